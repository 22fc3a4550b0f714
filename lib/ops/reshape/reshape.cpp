#include "ops/reshape/reshape.h"

namespace mpt {

std::string print(const ReshapeAttributes& a) {
    return "shape=" + to_string(a.shape);
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const Shape& shape = attributes.as<ReshapeAttributes>().shape;
    MPT_CHECK(shape.num_elements() == inputs[0].shape.num_elements(),
              "reshape of " + to_string(inputs[0].shape) + " to " + to_string(shape));
    return {{shape, inputs[0].dtype}};
}

void differentiate(GradientContext& context) {
    context.set(
        0, reshape(context.builder, context.grad(), context.builder.type(context.in(0)).shape, "backward"));
}

}  // namespace

const OpType reshape_op = {
    .name = "reshape",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .differentiate = differentiate,
    .cost = [](const Attributes&, std::span<const TensorType>,
               std::span<const TensorType>) { return Cost{}; },
    .is_view = true,
};

ValueId reshape(GraphBuilder& builder, ValueId x, const Shape& shape, const std::string& name) {
    if (builder.type(x).shape == shape) return x;
    return builder.add(reshape_op, ReshapeAttributes{shape}, {x}, name);
}

void register_reshape(OpTable& table) {
    table.add(reshape_op);
}

}  // namespace mpt
