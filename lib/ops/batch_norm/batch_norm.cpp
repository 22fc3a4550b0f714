#include "ops/batch_norm/batch_norm.h"

#include <fmt/format.h>

#include "ops/cost.h"

namespace mpt {

std::string print(const BatchNormAttributes& a) {
    return fmt::format("epsilon={}", a.epsilon);
}
std::string print(const RunningStatisticsAttributes& a) {
    return fmt::format("momentum={} epsilon={} count={}", a.momentum, a.epsilon, a.count);
}

namespace {

void check_channels(const char* op, const Shape& x, std::span<const TensorType> vectors) {
    MPT_CHECK(x.rank() >= 2, std::string(op) + " of " + to_string(x));
    for (const TensorType& type : vectors)
        MPT_CHECK(type.shape == Shape{x[-1]},
                  std::string(op) + " of " + to_string(x) + " with a vector " + to_string(type.shape));
}

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    check_channels("batch_norm", inputs[0].shape, inputs.subspan(1));
    const TensorType statistic{{inputs[0].shape[-1]}, wide_of(inputs[0].dtype)};
    return {inputs[0], statistic, statistic};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape, "batch_norm_backward shapes differ");
    check_channels("batch_norm_backward", inputs[0].shape, inputs.subspan(2));
    const TensorType statistic{{inputs[0].shape[-1]}, wide_of(inputs[0].dtype)};
    return {inputs[0], statistic, statistic};
}

std::vector<TensorType> infer_inference(const Attributes&, std::span<const TensorType> inputs) {
    check_channels("batch_norm_inference", inputs[0].shape, inputs.subspan(1));
    return {inputs[0]};
}

std::vector<TensorType> infer_running(const Attributes& attributes, std::span<const TensorType> inputs) {
    MPT_CHECK(attributes.as<RunningStatisticsAttributes>().count > 0, "running_statistics over nothing");
    for (const TensorType& type : inputs)
        MPT_CHECK(type == inputs[0], "running_statistics of different types");
    return {inputs[0], inputs[1]};
}

void differentiate(GradientContext& context) {
    const BatchNormGradients g = batch_norm_backward(
        context.builder, {context.grad(), context.in(0), context.in(1), context.out(1), context.out(2)},
        "backward");
    context.set(0, g.grad_x);
    context.set(1, g.grad_gamma);
    context.set(2, g.grad_beta);
}

std::vector<ValueId> decompose_backward(GraphBuilder& builder, const Node& node) {
    const auto in = [&](std::size_t index) { return node.inputs[index]; };
    const BatchNormGradients g =
        batch_norm_backward(builder, {in(0), in(1), in(2), in(3), in(4)}, node.name + ".whole");
    return {g.grad_x, g.grad_gamma, g.grad_beta};
}

// Flops an element: forward 3 for the statistics and 2 to apply them, backward 5 and 5.
template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType batch_norm_op = {
    .name = "batch_norm",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost<5>,
};

const OpType batch_norm_backward_op = {
    .name = "batch_norm_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<10>,
};

const OpType batch_norm_backward_fused_op = {
    .name = "batch_norm_backward_fused",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<10>,
    .decompose = decompose_backward,
};

const OpType batch_norm_inference_op = {
    .name = "batch_norm_inference",
    .precision = PrecisionClass::kFollow,
    .infer = infer_inference,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .cost = cost<2>,
    .may_alias = {{0, 0}},
};

const OpType running_statistics_op = {
    .name = "running_statistics",
    .precision = PrecisionClass::kFixed,
    .infer = infer_running,
    .cost = cost<12>,
    .must_alias = {{0, 0}, {1, 1}},
};

BatchNormOutputs batch_norm(GraphBuilder& builder, ValueId x, ValueId gamma, ValueId beta,
                            BatchNormAttributes attributes, const std::string& name) {
    const auto out = builder.node(batch_norm_op, attributes, {x, gamma, beta}, name);
    return {out[0], out[1], out[2]};
}

BatchNormGradients batch_norm_backward(GraphBuilder& builder, const BatchNormInputs& in,
                                       const std::string& name) {
    const auto out =
        builder.node(batch_norm_backward_op, {}, {in.grad_y, in.x, in.gamma, in.mean, in.rstd}, name);
    return {out[0], out[1], out[2]};
}

ValueId batch_norm_inference(GraphBuilder& builder, const BatchNormInferenceInputs& in,
                             BatchNormAttributes attributes, const std::string& name) {
    return builder.add(batch_norm_inference_op, attributes,
                       {in.x, in.gamma, in.beta, in.running_mean, in.running_var}, name);
}

RunningStatisticsOutputs running_statistics(GraphBuilder& builder, const RunningStatisticsInputs& in,
                                            RunningStatisticsAttributes attributes, const std::string& name) {
    const auto out = builder.node(running_statistics_op, attributes,
                                  {in.running_mean, in.running_var, in.mean, in.rstd}, name);
    return {out[0], out[1]};
}

void register_batch_norm(OpTable& table) {
    table.add(batch_norm_op);
    table.add(batch_norm_backward_op);
    table.add(batch_norm_backward_fused_op);
    table.add(batch_norm_inference_op);
    table.add(running_statistics_op);
}

}  // namespace mpt
