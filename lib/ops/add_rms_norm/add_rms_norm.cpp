#include "ops/add_rms_norm/add_rms_norm.h"

#include "ops/add/add.h"
#include "ops/add_rms_norm/rewrites.h"
#include "ops/cost.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape,
              "add_rms_norm of " + to_string(inputs[0].shape) + " and " + to_string(inputs[1].shape));
    std::vector<TensorType> types = rms_norm_op.infer(attributes, inputs.subspan(1));
    types.insert(types.begin(), inputs[0]);
    return types;
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[4].shape == inputs[0].shape, "rms_norm_backward_add shapes differ");
    return rms_norm_backward_op.infer(attributes, inputs.first(4));
}

std::vector<ValueId> decompose(GraphBuilder& b, const Node& node) {
    const ValueId sum = add(b, node.inputs[0], node.inputs[1], node.name + ".add");
    const RmsNormOutputs norm =
        rms_norm(b, sum, node.inputs[2], node.attributes.as<RmsNormAttributes>(), node.name + ".rms_norm");
    return {sum, norm.y, norm.rstd};
}

std::vector<ValueId> decompose_backward(GraphBuilder& b, const Node& node) {
    const auto& in = node.inputs;
    const RmsNormGradients g = rms_norm_backward(b, {in[0], in[1], in[2], in[3]}, node.name + ".rms_norm");
    return {add(b, g.grad_x, in[4], node.name + ".add"), g.grad_gain};
}

template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType add_rms_norm_op = {
    .name = "add_rms_norm",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<5>,
    .may_alias = {{0, 0}, {0, 1}},
    .decompose = decompose,
};

const OpType rms_norm_backward_add_op = {
    .name = "rms_norm_backward_add",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index <= 1 || index == 4; },
    .cost = cost<12>,
    .may_alias = {{0, 0}, {0, 1}, {0, 4}},
    .decompose = decompose_backward,
};

void register_add_rms_norm(OpTable& table) {
    table.add(add_rms_norm_op);
    table.add(rms_norm_backward_add_op);
    table.add(rms_norm_takes_add);
    table.add(rms_norm_backward_takes_add);
}

}  // namespace mpt
