// Rewrites that put the element-wise passes after a batch norm into one.
#pragma once

#include "graph/op.h"

namespace mpt {

// relu(channel_affine(x)) -> channel_affine(x) relu
extern const Rewrite channel_affine_takes_relu;
// relu(add(channel_affine(x1), x2)) -> affine_add_relu(x1, x2), the relu being optional
extern const Rewrite add_relu_takes_affine;
// affine_add_relu(x1, channel_affine(x2)) -> affine_add_relu(x1, x2, scale2, shift2)
extern const Rewrite affine_add_relu_takes_second;

}  // namespace mpt
