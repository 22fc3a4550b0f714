#include "ops/multiply/multiply.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape,
              "multiply of " + to_string(inputs[0].shape) + " and " + to_string(inputs[1].shape));
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    if (context.wants(0))
        context.set(0, multiply(context.builder, context.grad(), context.in(1), "backward_first"));
    if (context.wants(1))
        context.set(1, multiply(context.builder, context.grad(), context.in(0), "backward_second"));
}

}  // namespace

const OpType multiply_op = {
    .name = "multiply",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .differentiate = differentiate,
    .may_alias = {{0, 0}, {0, 1}},
};

ValueId multiply(GraphBuilder& builder, ValueId a, ValueId b, const std::string& name) {
    return builder.add(multiply_op, {}, {a, b}, name);
}

void register_multiply(OpTable& table) {
    table.add(multiply_op);
}

}  // namespace mpt
