#include "ops/channel_affine/channel_affine.h"

#include "ops/add/add.h"
#include "ops/channel_affine/rewrites.h"
#include "ops/cost.h"
#include "ops/relu/relu.h"

namespace mpt {

std::string print(const ChannelAffineAttributes& a) {
    return a.relu ? "relu" : "";
}
std::string print(const AffineAddReluAttributes& a) {
    return std::string(a.relu ? "relu" : "") + (a.second_relu ? " second_relu" : "");
}

namespace {

namespace in = affine_add_relu_input;

void check_vectors(const char* op, const Shape& x, std::span<const TensorType> vectors) {
    MPT_CHECK(x.rank() >= 2, std::string(op) + " of " + to_string(x));
    for (const TensorType& type : vectors)
        MPT_CHECK(type.shape == Shape{x[-1]},
                  std::string(op) + " of " + to_string(x) + " with a vector " + to_string(type.shape));
}

std::vector<TensorType> infer_affine(const Attributes&, std::span<const TensorType> inputs) {
    check_vectors("channel_affine", inputs[0].shape, inputs.subspan(1, 2));
    return {inputs[0]};
}

std::vector<TensorType> infer_add(const Attributes&, std::span<const TensorType> inputs) {
    check_vectors("affine_add_relu", inputs[in::kX1].shape, inputs.subspan(in::kScale1, 2));
    MPT_CHECK(inputs[in::kX1].shape == inputs[in::kX2].shape, "affine_add_relu of " +
                                                                  to_string(inputs[in::kX1].shape) + " and " +
                                                                  to_string(inputs[in::kX2].shape));
    return {inputs[in::kX1]};
}

template <int flops_per_element>
Cost cost(const Attributes&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    return cost_with_flops(flops_per_element * static_cast<double>(outputs[0].shape.num_elements()), inputs,
                           outputs);
}

std::vector<ValueId> decompose_add(GraphBuilder& builder, const Node& node) {
    const auto& a = node.attributes.as<AffineAddReluAttributes>();
    const auto input = [&](int index) { return node.inputs[static_cast<std::size_t>(index)]; };
    const ValueId first =
        builder.add(channel_affine_op, ChannelAffineAttributes{},
                    {input(in::kX1), input(in::kScale1), input(in::kShift1)}, node.name + ".affine");
    ValueId second = input(in::kX2);
    if (input(in::kScale2) != kNone)
        second = builder.add(channel_affine_op, ChannelAffineAttributes{a.second_relu},
                             {second, input(in::kScale2), input(in::kShift2)}, node.name + ".second_affine");
    const ValueId sum = add(builder, first, second, node.name + ".add");
    return {a.relu ? relu(builder, sum, node.name + ".relu") : sum};
}

}  // namespace

const OpType channel_affine_op = {
    .name = "channel_affine",
    .precision = PrecisionClass::kFollow,
    .infer = infer_affine,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .cost = cost<3>,
    .may_alias = {{0, 0}},
};

const OpType affine_add_relu_op = {
    .name = "affine_add_relu",
    .precision = PrecisionClass::kFollow,
    .infer = infer_add,
    .is_data_input = [](const Attributes&, int index) { return index == in::kX1 || index == in::kX2; },
    .cost = cost<6>,
    .may_alias = {{0, in::kX1}, {0, in::kX2}},
    .decompose = decompose_add,
};

void register_channel_affine(OpTable& table) {
    table.add(channel_affine_op);
    table.add(affine_add_relu_op);
    table.add(channel_affine_takes_relu);
    table.add(add_relu_takes_affine);
    table.add(affine_add_relu_takes_second);
}

}  // namespace mpt
