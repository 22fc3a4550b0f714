// Translating with an encoder-decoder: one graph reads the source, another makes the target token by token
// against caches of keys and values.
#pragma once

#include "models/transformer/transformer.h"

namespace mpt {

// Inputs: "source" i32 [N,S], "source_lengths" i32 [N]. Outputs for each decoder layer i: "cross.<i>" f32
// [N,S,2,H,D], keys and values of the source.
struct EncodeExtent {
    std::int64_t batch = 1;   // N sentences
    std::int64_t source = 0;  // S
};
void transformer_encode_graph(GraphBuilder& builder, const EncodeExtent& extent,
                              const TransformerConfig& config);

// Inputs: "tokens" i32 [N*K,t], "position" i32 [N*K] (where the first of the t tokens stands; 0 for the
// first of all), "source_lengths" i32 [N], "cross.<i>" f32 [N,S,2,H,D] as encoded, "cache.<i>" f32
// [N*K,capacity,2,H,D]. Row n K + k is hypothesis k of sentence n; the hypotheses of a sentence share its
// "cross". Outputs: "logits" [N*K*t, padded target vocabulary], "cache.<i>.next", in place: between runs of
// the plan the caches' memory (Executor::input of "cache.<i>") is the host's, to keep, copy or permute by
// rows; rows at and after `position` are not read before they are written. Compile both graphs in f32.
struct DecodeStepExtent {
    std::int64_t batch = 1;     // N sentences
    std::int64_t beams = 1;     // K hypotheses each
    std::int64_t tokens = 1;    // t
    std::int64_t capacity = 0;  // positions in a cache
    std::int64_t source = 0;    // S
};
void transformer_decode_graph(GraphBuilder& builder, const DecodeStepExtent& extent,
                              const TransformerConfig& config);

}  // namespace mpt
