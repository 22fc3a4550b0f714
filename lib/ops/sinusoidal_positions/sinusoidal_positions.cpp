#include "ops/sinusoidal_positions/sinusoidal_positions.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/cost.h"

namespace mpt {

std::string print(const SinusoidalPositionsAttributes& a) {
    return fmt::format("scale={} base={}", a.scale, a.base);
}

double sinusoid_frequency(const SinusoidalPositionsAttributes& attributes, std::int64_t pair,
                          std::int64_t width) {
    return std::pow(attributes.base, -2 * static_cast<double>(pair) / static_cast<double>(width));
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    MPT_CHECK(x.rank() == 3 && x[2] % 2 == 0, "sinusoidal_positions of " + to_string(x));
    MPT_CHECK(inputs[1].shape.rank() == 0 || inputs[1].shape == Shape{x[0]},
              "sinusoidal_positions of " + to_string(x) + " at positions " + to_string(inputs[1].shape));
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    context.set(0, sinusoidal_positions_backward(context.builder, context.grad(),
                                                 context.node.attributes.as<SinusoidalPositionsAttributes>(),
                                                 "backward"));
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(2 * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType sinusoidal_positions_op = {
    .name = "sinusoidal_positions",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost,
    .may_alias = {{0, 0}},
};

const OpType sinusoidal_positions_backward_op = {
    .name = "sinusoidal_positions_backward",
    .precision = PrecisionClass::kFollow,
    .infer = [](const Attributes&, std::span<const TensorType> inputs) -> std::vector<TensorType> {
        return {inputs[0]};
    },
    .may_alias = {{0, 0}},
};

ValueId sinusoidal_positions(GraphBuilder& builder, ValueId x, ValueId position,
                             SinusoidalPositionsAttributes attributes, const std::string& name) {
    return builder.add(sinusoidal_positions_op, attributes, {x, position}, name);
}

ValueId sinusoidal_positions_backward(GraphBuilder& builder, ValueId grad_y,
                                      SinusoidalPositionsAttributes attributes, const std::string& name) {
    return builder.add(sinusoidal_positions_backward_op, attributes, {grad_y}, name);
}

void register_sinusoidal_positions(OpTable& table) {
    table.add(sinusoidal_positions_op);
    table.add(sinusoidal_positions_backward_op);
}

}  // namespace mpt
