// A GPT that continues sequences token by token: keys and values of earlier tokens come from caches.
#pragma once

#include <vector>

#include "models/gpt/gpt.h"

namespace mpt {

// Sequences of a batch may stand at different positions. Tokens at positions up to the caches' length; rows
// of a cache at and after `position` are not read before they are written.
struct GptDecodeInputs {
    ValueId tokens;               // i32 [B,t]: t = 1, or a prompt (or part of it) at once
    ValueId position;             // i32 [B]: where the first of the t tokens stands, 0 for the first of all
    std::vector<ValueId> caches;  // one a layer: f32 [B,capacity,2,H,D], keys and values
};
struct GptDecodeOutputs {
    ValueId logits;               // [B*t, padded vocabulary]
    std::vector<ValueId> caches;  // the inputs' memory, updated; make them outputs of the graph
};
// The parameters are those of gpt(). Compile in f32: caches are f32.
GptDecodeOutputs gpt_decode(GraphBuilder& builder, const GptDecodeInputs& inputs, const GptConfig& config);

// The whole graph. Inputs: "tokens" i32 [B,t], "position" i32 [B], "cache.<i>" f32 [B,capacity,2,H,D] for
// each layer i. Outputs: "logits" [B*t, padded vocabulary], "cache.<i>.next", in place: between runs of the
// plan the caches' memory (Executor::input of "cache.<i>") is the host's, to keep, copy or permute by rows.
struct DecodeExtent {
    std::int64_t batch = 1;     // sequences
    std::int64_t tokens = 1;    // t
    std::int64_t capacity = 0;  // positions in a cache
};
void gpt_decode_graph(GraphBuilder& builder, const DecodeExtent& extent, const GptConfig& config);

}  // namespace mpt
