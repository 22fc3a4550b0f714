#include "ops/add_layer_norm/add_layer_norm.h"

#include "ops/add/add.h"
#include "ops/add_layer_norm/rewrites.h"
#include "ops/cost.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape,
              "add_layer_norm of " + to_string(inputs[0].shape) + " and " + to_string(inputs[1].shape));
    std::vector<TensorType> types = layer_norm_op.infer(attributes, inputs.subspan(1));
    types.insert(types.begin(), inputs[0]);
    return types;
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[5].shape == inputs[0].shape, "layer_norm_backward_add shapes differ");
    return layer_norm_backward_op.infer(attributes, inputs.first(5));
}

std::vector<ValueId> decompose(GraphBuilder& b, const Node& node) {
    const ValueId sum = add(b, node.inputs[0], node.inputs[1], node.name + ".add");
    const LayerNormOutputs norm =
        layer_norm(b, sum, node.inputs[2], node.inputs[3], node.attributes.as<LayerNormAttributes>(),
                   node.name + ".layer_norm");
    return {sum, norm.y, norm.mean, norm.rstd};
}

std::vector<ValueId> decompose_backward(GraphBuilder& b, const Node& node) {
    const auto& in = node.inputs;
    const LayerNormGradients g =
        layer_norm_backward(b, {in[0], in[1], in[2], in[3], in[4]}, node.name + ".layer_norm");
    return {add(b, g.grad_x, in[5], node.name + ".add"), g.grad_gain, g.grad_bias};
}

template <int per_element>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(per_element * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType add_layer_norm_op = {
    .name = "add_layer_norm",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<8>,
    .may_alias = {{0, 0}, {0, 1}},
    .decompose = decompose,
};

const OpType layer_norm_backward_add_op = {
    .name = "layer_norm_backward_add",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index <= 1 || index == 5; },
    .cost = cost<16>,
    .may_alias = {{0, 0}, {0, 1}, {0, 5}},
    .decompose = decompose_backward,
};

AddLayerNormOutputs add_layer_norm(GraphBuilder& builder, ValueId a, ValueId b, ValueId gain, ValueId bias,
                                   LayerNormAttributes attributes, const std::string& name) {
    const auto out = builder.node(add_layer_norm_op, attributes, {a, b, gain, bias}, name);
    return {out[0], out[1], out[2], out[3]};
}

void register_add_layer_norm(OpTable& table) {
    table.add(add_layer_norm_op);
    table.add(layer_norm_backward_add_op);
    table.add(layer_norm_takes_add);
    table.add(layer_norm_backward_takes_add);
}

}  // namespace mpt
