#include "ops/rope/rope.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/cost.h"

namespace mpt {

std::string print(const RopeAttributes& a) {
    return fmt::format("base={}{}{}", a.base, a.inverse ? " inverse" : "",
                       a.parts == 1 ? "" : fmt::format(" parts={}", a.parts));
}

double rope_angle(const RopeAttributes& attributes, std::int64_t position, std::int64_t pair,
                  std::int64_t head_size) {
    const double exponent = -2 * static_cast<double>(pair) / static_cast<double>(head_size);
    const double angle = static_cast<double>(position) * std::pow(attributes.base, exponent);
    return attributes.inverse ? -angle : angle;
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    const std::int64_t parts = attributes.as<RopeAttributes>().parts;
    MPT_CHECK((x.rank() == 4 || x.rank() == 5) && x[-1] % 2 == 0, "rope of " + to_string(x));
    MPT_CHECK(parts >= 1 && parts <= (x.rank() == 5 ? x[2] : 1),
              "rope of " + std::to_string(parts) + " parts of " + to_string(x));
    MPT_CHECK(inputs.size() < 2 || inputs[1].shape.rank() == 0 || inputs[1].shape == Shape{x[0]},
              "rope of " + to_string(x) + " with offsets " + to_string(inputs[1].shape));
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    auto attributes = context.node.attributes.as<RopeAttributes>();
    attributes.inverse = !attributes.inverse;
    context.set(0, rope(context.builder, context.grad(), context.in(1), attributes, "backward"));
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(3 * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType rope_op = {
    .name = "rope",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost,
    .may_alias = {{0, 0}},
};

ValueId rope(GraphBuilder& builder, ValueId x, ValueId offset, RopeAttributes attributes,
             const std::string& name) {
    return builder.add(rope_op, attributes, {x, offset}, name);
}

void register_rope(OpTable& table) {
    table.add(rope_op);
}

}  // namespace mpt
