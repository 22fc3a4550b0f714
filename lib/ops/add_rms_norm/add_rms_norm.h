// The residual sum and the root mean square norm that reads it, in one pass over memory each way.
//   add_rms_norm:          (a, b, gain) -> sum = a + b, y, rstd = rms_norm(sum)
//   rms_norm_backward_add: (grad_y, x, gain, rstd, other) -> grad_x of rms_norm_backward + other, grad_gain
// The statistic is that of the sum as it is stored: the same bits as the two ops one after the other.
#pragma once

#include "ops/rms_norm/rms_norm.h"

namespace mpt {

extern const OpType add_rms_norm_op;
extern const OpType rms_norm_backward_add_op;

}  // namespace mpt
