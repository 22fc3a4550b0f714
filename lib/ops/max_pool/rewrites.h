// Rewrites around max_pool.
#pragma once

#include "graph/op.h"

namespace mpt {

// max_pool(channel_affine(x)), read by nobody else -> max_pool of x with the scale and the shift, where a
// fast kernel runs that.
extern const Rewrite max_pool_takes_affine;

}  // namespace mpt
