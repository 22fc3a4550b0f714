// The loss of a model of text: a sum over tokens, so that windows of any size can be averaged.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct TokenLossConfig {
    std::int64_t vocabulary = 0;  // true size: columns behind it pad the logits
    double label_smoothing = 0;   // over the true vocabulary, as Vaswani et al.
};

// logits [M, padded V], targets i32 [M] (-1: ignored). Adds the graph output "loss_sum" (f32) and returns it.
ValueId token_loss(GraphBuilder& builder, ValueId logits, ValueId targets, const TokenLossConfig& config);

}  // namespace mpt
