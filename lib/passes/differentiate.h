// Appends gradient nodes from each op's own rule.
//   before: loss = f(x, w)          after: ... ; grad_w = f.backward(seed, x)
#pragma once

#include <vector>

#include "graph/builder.h"

namespace mpt {

struct ParameterGradient {
    ValueId parameter = kNone;  // a stored value of Region::kMaster
    ValueId gradient = kNone;   // same shape
};

// `seed` is the gradient of `loss` (a scalar). Parameters that the loss does not depend on are left out.
std::vector<ParameterGradient> differentiate(GraphBuilder& builder, ValueId loss, ValueId seed);

}  // namespace mpt
