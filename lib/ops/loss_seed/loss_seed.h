// loss_seed: (weight f32 [], control) -> seed f32 []: weight * loss scale, the gradient of a micro-step's
// summed loss. weight is 1 / samples of the update's whole window, so that accumulated gradients are those of
// its mean.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType loss_seed_op;

ValueId loss_seed(GraphBuilder& builder, ValueId weight, ValueId control,
                  const std::string& name = "loss_seed");

}  // namespace mpt
