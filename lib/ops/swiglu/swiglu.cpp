#include "ops/swiglu/swiglu.h"

#include "ops/cost.h"
#include "ops/multiply/multiply.h"
#include "ops/silu/silu.h"
#include "ops/swiglu/rewrites.h"

namespace mpt {

namespace {

template <int outputs>
std::vector<TensorType> same_as_first(const Attributes&, std::span<const TensorType> inputs) {
    for (const TensorType& type : inputs) MPT_CHECK(type.shape == inputs[0].shape, "swiglu shapes differ");
    return std::vector<TensorType>(outputs, inputs[0]);
}

std::vector<ValueId> decompose(GraphBuilder& b, const Node& node) {
    return {
        multiply(b, silu(b, node.inputs[0], node.name + ".silu"), node.inputs[1], node.name + ".multiply")};
}

std::vector<ValueId> decompose_backward(GraphBuilder& b, const Node& node) {
    const ValueId grad_y = node.inputs[0], gate = node.inputs[1], up = node.inputs[2];
    const ValueId passed = silu(b, gate, node.name + ".silu");
    return {
        silu_backward(b, multiply(b, grad_y, up, node.name + ".grad_silu"), gate, node.name + ".grad_gate"),
        multiply(b, grad_y, passed, node.name + ".grad_up")};
}

// An exponential counts as ten.
template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType swiglu_op = {
    .name = "swiglu",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first<1>,
    .cost = cost<14>,
    .may_alias = {{0, 0}, {0, 1}},
    .decompose = decompose,
};

const OpType swiglu_backward_op = {
    .name = "swiglu_backward",
    .precision = PrecisionClass::kFollow,
    .infer = same_as_first<2>,
    .cost = cost<19>,
    .may_alias = {{0, 0}, {1, 2}},
    .decompose = decompose_backward,
};

void register_swiglu(OpTable& table) {
    table.add(swiglu_op);
    table.add(swiglu_backward_op);
    table.add(multiply_takes_silu);
}

}  // namespace mpt
