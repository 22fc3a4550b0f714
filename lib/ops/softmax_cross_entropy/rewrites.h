#pragma once

#include "graph/op.h"

namespace mpt {

// nll_loss(log_softmax(z)) and their gradients -> softmax_cross_entropy(z) and its gradient.
extern const Rewrite log_softmax_takes_nll_loss;
// softmax_cross_entropy(cast(z)) of narrow logits whose gradient is only cast back -> both on the narrow
// tensors.
extern const Rewrite softmax_cross_entropy_takes_casts;

}  // namespace mpt
