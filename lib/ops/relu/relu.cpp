#include "ops/relu/relu.h"

namespace mpt {

namespace {

std::vector<TensorType> same_as_first(const Attributes&, std::span<const TensorType> inputs) {
    for (const TensorType& type : inputs) MPT_CHECK(type.shape == inputs[0].shape, "relu shapes differ");
    return {inputs[0]};
}

void differentiate_relu(GradientContext& context) {
    context.set(0, relu_backward(context.builder, context.grad(), context.out(), "backward"));
}

}  // namespace

const OpType relu_op = {
    .name = "relu",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first,
    .differentiate = differentiate_relu,
    .may_alias = {{0, 0}},
};

const OpType relu_backward_op = {
    .name = "relu_backward",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first,
    .may_alias = {{0, 0}},
};

ValueId relu(GraphBuilder& builder, ValueId x, const std::string& name) {
    return builder.add(relu_op, {}, {x}, name);
}

ValueId relu_backward(GraphBuilder& builder, ValueId grad_y, ValueId y, const std::string& name) {
    return builder.add(relu_backward_op, {}, {grad_y, y}, name);
}

void register_relu(OpTable& table) {
    table.add(relu_op);
    table.add(relu_backward_op);
}

}  // namespace mpt
