#include "ops/gelu/gelu.h"

#include "ops/cost.h"

namespace mpt {

std::string print(const GeluAttributes& a) {
    return a.form == GeluForm::kTanh ? "form=tanh" : "form=exact";
}

namespace {

std::vector<TensorType> same_as_first(const Attributes&, std::span<const TensorType> inputs) {
    for (const TensorType& type : inputs) MPT_CHECK(type.shape == inputs[0].shape, "gelu shapes differ");
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    context.set(0, gelu_backward(context.builder, context.grad(), context.in(0),
                                 context.node.attributes.as<GeluAttributes>(), "backward"));
}

// An exponential counts as ten.
template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType gelu_op = {
    .name = "gelu",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first,
    .differentiate = differentiate,
    .cost = cost<20>,
    .may_alias = {{0, 0}},
};

const OpType gelu_backward_op = {
    .name = "gelu_backward",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first,
    .cost = cost<27>,
    .may_alias = {{0, 0}, {0, 1}},
};

ValueId gelu(GraphBuilder& builder, ValueId x, GeluAttributes attributes, const std::string& name) {
    return builder.add(gelu_op, attributes, {x}, name);
}

ValueId gelu_backward(GraphBuilder& builder, ValueId grad_y, ValueId x, GeluAttributes attributes,
                      const std::string& name) {
    return builder.add(gelu_backward_op, attributes, {grad_y, x}, name);
}

void register_gelu(OpTable& table) {
    table.add(gelu_op);
    table.add(gelu_backward_op);
}

}  // namespace mpt
