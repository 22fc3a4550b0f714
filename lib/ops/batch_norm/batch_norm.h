// Batch normalisation over all but the last dimension (Ioffe & Szegedy 2015): x is [..., C], parameters and
// statistics are f32 [C].
//   batch_norm:           (x, gamma, beta) -> y, mean, rstd; y = gamma * (x - mean) * rstd + beta, rstd = 1 /
//                         sqrt(biased variance + epsilon)
//   batch_norm_backward:  (grad_y, x, gamma, mean, rstd) -> grad_x, grad_gamma, grad_beta
//   batch_norm_backward_fused: the same, put together again for a library
//   (ops/batch_norm_add_relu/rewrites.h) batch_norm_inference: (x, gamma, beta, running_mean, running_var) ->
//   y running_statistics:   (running_mean, running_var, mean, rstd) -> both updated in place: new = (1 -
//   momentum)
//                         old + momentum batch, with the unbiased variance (1 / rstd^2 - epsilon) * count /
//                         (count - 1), as PyTorch; a channel whose batch statistics are not finite keeps its
//                         old values, or one overflow in f16 would spoil every later evaluation
#pragma once

#include "graph/builder.h"

namespace mpt {

struct BatchNormAttributes {
    double epsilon = 1e-5;
    bool operator==(const BatchNormAttributes&) const = default;
};
struct RunningStatisticsAttributes {
    double momentum = 0.1;   // weight of the new value
    double epsilon = 1e-5;   // as in the batch_norm that made rstd
    std::int64_t count = 0;  // values a channel that the statistics were taken over
    bool operator==(const RunningStatisticsAttributes&) const = default;
};
std::string print(const BatchNormAttributes& attributes);
std::string print(const RunningStatisticsAttributes& attributes);

extern const OpType batch_norm_op;
extern const OpType batch_norm_backward_op;
extern const OpType batch_norm_backward_fused_op;
extern const OpType batch_norm_inference_op;
extern const OpType running_statistics_op;

struct BatchNormOutputs {
    ValueId y, mean, rstd;
};
BatchNormOutputs batch_norm(GraphBuilder& builder, ValueId x, ValueId gamma, ValueId beta,
                            BatchNormAttributes attributes = {}, const std::string& name = "batch_norm");

struct BatchNormInputs {
    ValueId grad_y, x, gamma, mean, rstd;
};
struct BatchNormGradients {
    ValueId grad_x, grad_gamma, grad_beta;
};
BatchNormGradients batch_norm_backward(GraphBuilder& builder, const BatchNormInputs& inputs,
                                       const std::string& name = "batch_norm.backward");

struct BatchNormInferenceInputs {
    ValueId x, gamma, beta, running_mean, running_var;
};
ValueId batch_norm_inference(GraphBuilder& builder, const BatchNormInferenceInputs& inputs,
                             BatchNormAttributes attributes = {}, const std::string& name = "batch_norm");

struct RunningStatisticsInputs {
    ValueId running_mean, running_var, mean, rstd;
};
struct RunningStatisticsOutputs {
    ValueId running_mean, running_var;
};
RunningStatisticsOutputs running_statistics(GraphBuilder& builder, const RunningStatisticsInputs& inputs,
                                            RunningStatisticsAttributes attributes,
                                            const std::string& name = "running_statistics");

}  // namespace mpt
