#include "ops/layer_norm/layer_norm.h"

#include <fmt/format.h>

#include "ops/cost.h"

namespace mpt {

std::string print(const LayerNormAttributes& a) {
    return fmt::format("epsilon={}", a.epsilon);
}

namespace {

Shape rows_of(const Shape& x) {
    MPT_CHECK(x.rank() >= 2, "layer_norm of " + to_string(x));
    return Shape(std::vector<std::int64_t>(x.dims().begin(), x.dims().end() - 1));
}

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    const Shape vector{x[-1]};
    // An absent bias is a scalar here.
    const bool bias_fits = inputs.size() < 3 || inputs[2].shape.rank() == 0 || inputs[2].shape == vector;
    MPT_CHECK(inputs[1].shape == vector && bias_fits,
              "layer_norm of " + to_string(x) + " with a gain or bias that is not [C]");
    const TensorType statistic{rows_of(x), wide_of(inputs[0].dtype)};
    return {inputs[0], statistic, statistic};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[1].shape;
    MPT_CHECK(inputs[0].shape == x && inputs[2].shape == Shape{x[-1]} && inputs[3].shape == rows_of(x) &&
                  inputs[4].shape == rows_of(x),
              "layer_norm_backward of " + to_string(x) + " with inputs of other shapes");
    const TensorType vector{{x[-1]}, wide_of(inputs[0].dtype)};
    return {inputs[0], vector, vector};
}

void differentiate(GradientContext& context) {
    const LayerNormGradients g = layer_norm_backward(
        context.builder, {context.grad(), context.in(0), context.in(1), context.out(1), context.out(2)},
        "backward");
    context.set(0, g.grad_x);
    context.set(1, g.grad_gain);
    if (context.in(2) != kNone) context.set(2, g.grad_bias);
}

// Flops an element: forward 3 for the statistics and 4 to apply them, backward 6 and 9.
template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType layer_norm_op = {
    .name = "layer_norm",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost<7>,
};

const OpType layer_norm_backward_op = {
    .name = "layer_norm_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<15>,
    .may_alias = {{0, 0}, {0, 1}},
};

LayerNormOutputs layer_norm(GraphBuilder& builder, ValueId x, ValueId gain, ValueId bias,
                            LayerNormAttributes attributes, const std::string& name) {
    const auto out = builder.node(layer_norm_op, attributes, {x, gain, bias}, name);
    return {out[0], out[1], out[2]};
}

LayerNormGradients layer_norm_backward(GraphBuilder& builder, const LayerNormInputs& in,
                                       const std::string& name) {
    const auto out =
        builder.node(layer_norm_backward_op, {}, {in.grad_y, in.x, in.gain, in.mean, in.rstd}, name);
    return {out[0], out[1], out[2]};
}

void register_layer_norm(OpTable& table) {
    table.add(layer_norm_op);
    table.add(layer_norm_backward_op);
}

}  // namespace mpt
