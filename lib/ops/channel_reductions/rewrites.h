#pragma once

#include "graph/op.h"

namespace mpt {

// Two channel_reductions of one gradient, as at a block's end with a projection, become one with two
// references.
extern const Rewrite channel_reductions_merge;
// channel_reductions(relu_backward(g, z)) -> relu_backward_reductions, where no convolution took them; where
// z is channel_affine(x) with relu, x is read in its place.
extern const Rewrite relu_backward_takes_reductions;

}  // namespace mpt
