// conv2d_fused: (x, scale?, shift?, w) -> y[, statistics]: conv2d of relu?(x * scale + shift), and the sum
// and the sum of squares of y a channel, [2, K]. The normalised, activated input is never stored; padding is
// zero after the activation. `input_affine` says that scale and shift are given, `statistics` that there is a
// second output.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct Conv2dFusedAttributes {
    std::int64_t stride = 1, pad = 0;
    bool input_affine = false;
    bool input_relu = false;
    bool statistics = false;
    bool operator==(const Conv2dFusedAttributes&) const = default;
};
std::string print(const Conv2dFusedAttributes& attributes);

extern const OpType conv2d_fused_op;

// Places of the inputs.
namespace conv2d_fused_input {
enum : int { kX, kScale, kShift, kW, kCount };
}

}  // namespace mpt
