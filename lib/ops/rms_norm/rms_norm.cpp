#include "ops/rms_norm/rms_norm.h"

#include <fmt/format.h>

#include "ops/cost.h"

namespace mpt {

std::string print(const RmsNormAttributes& a) {
    return fmt::format("epsilon={}", a.epsilon);
}

namespace {

Shape rows_of(const Shape& x) {
    MPT_CHECK(x.rank() >= 2, "rms_norm of " + to_string(x));
    return Shape(std::vector<std::int64_t>(x.dims().begin(), x.dims().end() - 1));
}

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    MPT_CHECK(inputs[1].shape == Shape{x[-1]},
              "rms_norm of " + to_string(x) + " with a gain that is not [C]");
    return {inputs[0], {rows_of(x), wide_of(inputs[0].dtype)}};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[1].shape;
    MPT_CHECK(inputs[0].shape == x && inputs[2].shape == Shape{x[-1]} && inputs[3].shape == rows_of(x),
              "rms_norm_backward of " + to_string(x) + " with inputs of other shapes");
    return {inputs[0], {{x[-1]}, wide_of(inputs[0].dtype)}};
}

void differentiate(GradientContext& context) {
    const RmsNormGradients g = rms_norm_backward(
        context.builder, {context.grad(), context.in(0), context.in(1), context.out(1)}, "backward");
    context.set(0, g.grad_x);
    context.set(1, g.grad_gain);
}

// Flops an element: forward 2 for the statistic and 2 to apply it, backward 4 and 7.
template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType rms_norm_op = {
    .name = "rms_norm",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost<4>,
};

const OpType rms_norm_backward_op = {
    .name = "rms_norm_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<11>,
    .may_alias = {{0, 0}, {0, 1}},
};

RmsNormOutputs rms_norm(GraphBuilder& builder, ValueId x, ValueId gain, RmsNormAttributes attributes,
                        const std::string& name) {
    const auto out = builder.node(rms_norm_op, attributes, {x, gain}, name);
    return {out[0], out[1]};
}

RmsNormGradients rms_norm_backward(GraphBuilder& builder, const RmsNormInputs& in, const std::string& name) {
    const auto out = builder.node(rms_norm_backward_op, {}, {in.grad_y, in.x, in.gain, in.rstd}, name);
    return {out[0], out[1]};
}

void register_rms_norm(OpTable& table) {
    table.add(rms_norm_op);
    table.add(rms_norm_backward_op);
}

}  // namespace mpt
