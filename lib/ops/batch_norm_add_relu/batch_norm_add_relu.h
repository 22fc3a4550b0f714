// batch_norm_add_relu: (x, gamma, beta, addend?) -> y, scale, shift, mean, rstd: batch norm by the statistics
// of x as batch_norm, then + addend, then max(0, .) with `relu`; scale and shift as those of batch_norm_fold:
// the norm alone is x * scale + shift. For libraries that do all of it in one call; elsewhere its parts are
// faster, whose sums move into convolutions.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct BatchNormAddReluAttributes {
    double epsilon = 1e-5;
    bool relu = false;
    bool operator==(const BatchNormAddReluAttributes&) const = default;
};
std::string print(const BatchNormAddReluAttributes& attributes);

extern const OpType batch_norm_add_relu_op;

// Places of its inputs and outputs.
namespace batch_norm_add_relu_input {
enum : int { kX, kGamma, kBeta, kAddend, kCount };
}
namespace batch_norm_add_relu_output {
enum : int { kY, kScale, kShift, kMean, kRstd, kCount };
}

}  // namespace mpt
