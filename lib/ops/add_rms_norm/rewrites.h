#pragma once

#include "graph/op.h"

namespace mpt {

// rms_norm(add(a, b)) -> add_rms_norm(a, b); others may read the sum, too.
extern const Rewrite rms_norm_takes_add;
// add(rms_norm_backward(...), other) -> rms_norm_backward_add(..., other)
extern const Rewrite rms_norm_backward_takes_add;

}  // namespace mpt
