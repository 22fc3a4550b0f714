#include "ops/add/add.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape,
              "add of " + to_string(inputs[0].shape) + " and " + to_string(inputs[1].shape));
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    context.set(0, context.grad());
    context.set(1, context.grad());
}

}  // namespace

const OpType add_op = {
    .name = "add",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .differentiate = differentiate,
    .may_alias = {{0, 0}, {0, 1}},
};

ValueId add(GraphBuilder& builder, ValueId a, ValueId b, const std::string& name) {
    return builder.add(add_op, {}, {a, b}, name);
}

void register_add(OpTable& table) {
    table.add(add_op);
    table.roles.sum = add;
}

}  // namespace mpt
