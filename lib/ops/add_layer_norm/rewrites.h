#pragma once

#include "graph/op.h"

namespace mpt {

// layer_norm(add(a, b)) -> add_layer_norm(a, b); others may read the sum, too.
extern const Rewrite layer_norm_takes_add;
// add(layer_norm_backward(...), other) -> layer_norm_backward_add(..., other)
extern const Rewrite layer_norm_backward_takes_add;

}  // namespace mpt
