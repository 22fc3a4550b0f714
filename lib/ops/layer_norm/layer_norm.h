// Layer normalisation over the last dimension (Ba, Kiros & Hinton 2016): x is [..., C], gain and bias are f32
// [C], the bias is optional (kNone); statistics are f32 [...], one a row.
//   layer_norm:          (x, gain, bias?) -> y, mean, rstd; y = gain * (x - mean) * rstd + bias,
//                        rstd = 1 / sqrt(biased variance + epsilon)
//   layer_norm_backward: (grad_y, x, gain, mean, rstd) -> grad_x, grad_gain, grad_bias
// Arithmetic is f32 or wider whatever the type of x.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct LayerNormAttributes {
    double epsilon = 1e-5;
    bool operator==(const LayerNormAttributes&) const = default;
};
std::string print(const LayerNormAttributes& attributes);

extern const OpType layer_norm_op;
extern const OpType layer_norm_backward_op;

struct LayerNormOutputs {
    ValueId y, mean, rstd;
};
LayerNormOutputs layer_norm(GraphBuilder& builder, ValueId x, ValueId gain, ValueId bias,
                            LayerNormAttributes attributes = {}, const std::string& name = "layer_norm");

struct LayerNormInputs {
    ValueId grad_y, x, gain, mean, rstd;
};
struct LayerNormGradients {
    ValueId grad_x, grad_gain, grad_bias;
};
LayerNormGradients layer_norm_backward(GraphBuilder& builder, const LayerNormInputs& inputs,
                                       const std::string& name = "layer_norm.backward");

}  // namespace mpt
