// The arithmetic of batch norm on vectors of C channels, between sums over the data and passes over it.
// batch_norm_fold:           (statistics [2, C], gamma, beta) -> scale, shift, mean, rstd: y = x * scale +
// shift batch_norm_inference_fold: (gamma, beta, running_mean, running_var) -> scale, shift
// batch_norm_backward_fold:  (reductions [rows, C], gamma, mean, rstd) -> grad_gamma, grad_beta, a, b, c:
//                            grad_x = a * g + b * x + c; row 0 holds sum(g), row `row` sum(g * x)
#pragma once

#include "graph/builder.h"

namespace mpt {

struct BatchNormFoldAttributes {
    double epsilon = 1e-5;
    std::int64_t count = 1;  // values a channel behind the statistics
    bool operator==(const BatchNormFoldAttributes&) const = default;
};
struct BatchNormInferenceFoldAttributes {
    double epsilon = 1e-5;
    bool operator==(const BatchNormInferenceFoldAttributes&) const = default;
};
struct BatchNormBackwardFoldAttributes {
    std::int64_t count = 1;
    int row = 1;
    bool operator==(const BatchNormBackwardFoldAttributes&) const = default;
};
std::string print(const BatchNormFoldAttributes& attributes);
std::string print(const BatchNormInferenceFoldAttributes& attributes);
std::string print(const BatchNormBackwardFoldAttributes& attributes);

extern const OpType batch_norm_fold_op;
extern const OpType batch_norm_inference_fold_op;
extern const OpType batch_norm_backward_fold_op;

}  // namespace mpt
