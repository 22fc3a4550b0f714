// The encoder-decoder of Vaswani et al. (2017), with the names that torch.nn.Transformer gives its weights:
// encoder.layers.<i>.{self_attn, linear1, linear2, norm1, norm2}, decoder.layers.<i>.{self_attn,
// multihead_attn, linear1, linear2, norm1, norm2, norm3}, encoder.norm, decoder.norm. Beside them:
// embedding.weight for source and target, or source_embedding and target_embedding; output.weight where it is
// none of these.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "layers/feed_forward.h"

namespace mpt {

struct TransformerConfig {
    std::int64_t encoder_depth = 6, decoder_depth = 6, width = 512, heads = 8;
    std::int64_t ffn_width = 0;                                 // 0: 4 C
    std::int64_t source_vocabulary = 0, target_vocabulary = 0;  // padded inside
    bool shared_embeddings = true;              // source and target have one vocabulary and one table
    bool tied_output = true;                    // the output matrix is the target's table
    bool pre_norm = false;                      // x + f(norm(x)) instead of norm(x + f(x))
    bool final_norm = false;                    // encoder.norm and decoder.norm after post-norm layers, too
    Activation activation = Activation::kRelu;  // not swiglu
    double norm_epsilon = 1e-5;
    double dropout = 0;             // of embeddings with positions, and of what each sub-layer adds
    double attention_dropout = 0;   // of attention's probabilities
    double activation_dropout = 0;  // behind the activation of the feed-forward part
    std::uint64_t seed = 0;         // of dropout
    bool training = false;          // dropout only then
};

struct TransformerInputs {
    ValueId source;          // i32 [B,S]
    ValueId source_lengths;  // i32 [B]: nobody sees the source's tokens behind them
    ValueId target;          // i32 [B,T], what the decoder reads: it begins with a token for the beginning
    ValueId step = kNone;    // i32 [], of micro-steps; needed for dropout
};

// -> logits [B*T, padded target vocabulary]. Initialisers: Xavier uniform (the packed matrix of queries, keys
// and values as one), biases 0, embeddings normal C^-0.5, which sqrt(C) scales to 1. Encoder layers are the
// first blocks of the graph, decoder layers the next. Throws Error(kUsage) for sizes that do not fit
// together.
ValueId transformer(GraphBuilder& builder, const TransformerInputs& inputs, const TransformerConfig& config);

}  // namespace mpt
