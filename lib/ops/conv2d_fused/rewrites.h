#pragma once

#include "graph/op.h"

namespace mpt {

// channel_statistics(conv2d(x, w)) -> conv2d_fused(x, w) with statistics
extern const Rewrite conv2d_takes_statistics;
// conv2d(channel_affine(x), w) -> conv2d_fused(x, scale, shift, w)
extern const Rewrite conv2d_takes_affine;

}  // namespace mpt
