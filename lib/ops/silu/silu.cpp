#include "ops/silu/silu.h"

#include "ops/cost.h"

namespace mpt {

namespace {

std::vector<TensorType> same_as_first(const Attributes&, std::span<const TensorType> inputs) {
    for (const TensorType& type : inputs) MPT_CHECK(type.shape == inputs[0].shape, "silu shapes differ");
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    context.set(0, silu_backward(context.builder, context.grad(), context.in(0), "backward"));
}

// An exponential counts as ten.
template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType silu_op = {
    .name = "silu",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first,
    .differentiate = differentiate,
    .cost = cost<13>,
    .may_alias = {{0, 0}},
};

const OpType silu_backward_op = {
    .name = "silu_backward",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first,
    .cost = cost<17>,
    .may_alias = {{0, 0}, {0, 1}},
};

ValueId silu(GraphBuilder& builder, ValueId x, const std::string& name) {
    return builder.add(silu_op, {}, {x}, name);
}

ValueId silu_backward(GraphBuilder& builder, ValueId grad_y, ValueId x, const std::string& name) {
    return builder.add(silu_backward_op, {}, {grad_y, x}, name);
}

void register_silu(OpTable& table) {
    table.add(silu_op);
    table.add(silu_backward_op);
}

}  // namespace mpt
