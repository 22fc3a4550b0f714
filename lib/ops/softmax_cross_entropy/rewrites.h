#pragma once

#include "graph/op.h"

namespace mpt {

// nll_loss(log_softmax(z)) and their gradients -> softmax_cross_entropy(z) and its gradient. Where z is a
// cast of narrow logits and grad_z is only cast back, the narrow tensors are read and written in their place.
extern const Rewrite log_softmax_takes_nll_loss;

}  // namespace mpt
