// Root mean square normalisation over the last dimension (Zhang & Sennrich 2019): x is [..., C], gain is f32
// [C]; the statistic is f32 [...], one a row.
//   rms_norm:          (x, gain) -> y, rstd; y = gain * x * rstd, rstd = 1 / sqrt(average(x^2) + epsilon)
//   rms_norm_backward: (grad_y, x, gain, rstd) -> grad_x, grad_gain
// Arithmetic is f32 or wider whatever the type of x.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct RmsNormAttributes {
    double epsilon = 1e-5;
    bool operator==(const RmsNormAttributes&) const = default;
};
std::string print(const RmsNormAttributes& attributes);

extern const OpType rms_norm_op;
extern const OpType rms_norm_backward_op;

struct RmsNormOutputs {
    ValueId y, rstd;
};
RmsNormOutputs rms_norm(GraphBuilder& builder, ValueId x, ValueId gain, RmsNormAttributes attributes = {},
                        const std::string& name = "rms_norm");

struct RmsNormInputs {
    ValueId grad_y, x, gain, rstd;
};
struct RmsNormGradients {
    ValueId grad_x, grad_gain;
};
RmsNormGradients rms_norm_backward(GraphBuilder& builder, const RmsNormInputs& inputs,
                                   const std::string& name = "rms_norm.backward");

}  // namespace mpt
