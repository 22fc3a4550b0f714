#include "ops/channel_reductions/channel_reductions.h"

#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/rewrites.h"
#include "ops/cost.h"
#include "ops/relu/relu.h"

namespace mpt {

std::string print(const ChannelReductionsAttributes& a) {
    return "references=" + std::to_string(a.num_references);
}
std::string print(const ReluBackwardReductionsAttributes& a) {
    return std::string(a.affine ? "affine " : "") + "references=" + std::to_string(a.num_references);
}

namespace {

namespace in = relu_backward_reductions_input;

TensorType sums_of(const TensorType& data, std::int64_t rows) {
    return {{rows, data.shape[-1]}, wide_of(data.dtype)};
}

std::vector<TensorType> infer_statistics(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape.rank() >= 2, "channel_statistics of " + to_string(inputs[0].shape));
    return {sums_of(inputs[0], 2)};
}

std::vector<TensorType> infer_reductions(const Attributes& attributes, std::span<const TensorType> inputs) {
    const int references = attributes.as<ChannelReductionsAttributes>().num_references;
    MPT_CHECK(references >= 1 && references <= 2 && inputs[0].shape.rank() >= 2, "channel_reductions");
    for (int i = 1; i <= references; ++i)
        MPT_CHECK(inputs[static_cast<std::size_t>(i)].shape == inputs[0].shape,
                  "channel_reductions: shapes differ");
    return {sums_of(inputs[0], 1 + references)};
}

std::vector<TensorType> infer_combine(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape && inputs[0].shape.rank() >= 2,
              "channel_combine: shapes differ");
    for (const TensorType& vector : inputs.subspan(2))
        MPT_CHECK(vector.shape == Shape{inputs[0].shape[-1]}, "channel_combine: a vector of another length");
    return {inputs[0]};
}

std::vector<TensorType> infer_relu(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<ReluBackwardReductionsAttributes>();
    const Shape& shape = inputs[in::kG].shape;
    MPT_CHECK(shape.rank() >= 2 && inputs[in::kX].shape == shape && inputs[in::kRef1].shape == shape,
              "relu_backward_reductions: shapes differ");
    MPT_CHECK(a.num_references == 1 || inputs[in::kRef2].shape == shape,
              "relu_backward_reductions: shapes differ");
    return {inputs[in::kG], sums_of(inputs[in::kG], 1 + a.num_references)};
}

template <int flops_per_element>
Cost cost(const Attributes&, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
    return cost_with_flops(flops_per_element * static_cast<double>(inputs[0].shape.num_elements()), inputs,
                           outputs);
}

std::vector<ValueId> decompose_relu(GraphBuilder& builder, const Node& node) {
    const auto& a = node.attributes.as<ReluBackwardReductionsAttributes>();
    const auto input = [&](int index) { return node.inputs[static_cast<std::size_t>(index)]; };
    ValueId activation = input(in::kX);
    if (a.affine)
        activation = builder.add(channel_affine_op, ChannelAffineAttributes{},
                                 {activation, input(in::kScale), input(in::kShift)}, node.name + ".affine");
    const ValueId grad = relu_backward(builder, input(in::kG), activation, node.name + ".relu");
    const ValueId sums = builder.add(channel_reductions_op, ChannelReductionsAttributes{a.num_references},
                                     {grad, input(in::kRef1), input(in::kRef2)}, node.name + ".reductions");
    return {grad, sums};
}

}  // namespace

const OpType channel_statistics_op = {
    .name = "channel_statistics",
    .precision = PrecisionClass::kFollow,
    .infer = infer_statistics,
    .cost = cost<3>,
};

const OpType channel_reductions_op = {
    .name = "channel_reductions",
    .precision = PrecisionClass::kFollow,
    .infer = infer_reductions,
    .cost = cost<5>,
};

const OpType channel_combine_op = {
    .name = "channel_combine",
    .precision = PrecisionClass::kFollow,
    .infer = infer_combine,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<4>,
    .may_alias = {{0, 0}, {0, 1}},
};

const OpType relu_backward_reductions_op = {
    .name = "relu_backward_reductions",
    .precision = PrecisionClass::kFollow,
    .infer = infer_relu,
    .is_data_input = [](const Attributes&, int index) { return index != in::kScale && index != in::kShift; },
    .cost = cost<6>,
    .may_alias = {{0, 0}},
    .decompose = decompose_relu,
};

void register_channel_reductions(OpTable& table) {
    table.add(channel_statistics_op);
    table.add(channel_reductions_op);
    table.add(channel_combine_op);
    table.add(relu_backward_reductions_op);
    table.add(channel_reductions_merge);
    table.add(relu_backward_takes_reductions);
}

}  // namespace mpt
