// Rewrites of the backward pass around a convolution, in this order:
//   conv2d_backward_data + conv2d_backward_weight + accumulate   -> conv2d_backward_fused (or one of the two)
//   its g from channel_combine                                   -> grad_affine
//   its x from channel_affine                                    -> input_affine
//   add(its grad_x, other)                                       -> add; of two candidates, the later one
//   relu_backward(its grad_x, x)                                 -> mask
//   channel_reductions(its grad_x, refs)                         -> reductions
// Each only if a fast kernel runs the result.
#pragma once

#include "graph/op.h"

namespace mpt {

void add_conv2d_backward_rewrites(OpTable& table);

}  // namespace mpt
