#include "ops/batch_norm_add_relu/batch_norm_add_relu.h"

#include <fmt/format.h>

#include "ops/batch_norm_add_relu/rewrites.h"
#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"
#include "ops/cost.h"

namespace mpt {

namespace in = batch_norm_add_relu_input;

std::string print(const BatchNormAddReluAttributes& a) {
    return fmt::format("epsilon={}{}", a.epsilon, a.relu ? " relu" : "");
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const TensorType& x = inputs[in::kX];
    const Shape vector{x.shape[-1]};
    MPT_CHECK(x.shape.rank() >= 2 && inputs[in::kGamma].shape == vector && inputs[in::kBeta].shape == vector,
              "batch_norm_add_relu of " + to_string(x.shape));
    const TensorType statistic{vector, wide_of(x.dtype)};
    return {x, statistic, statistic, statistic, statistic};
}

// 3 for the statistics, 2 to apply them, one each for the sum and the relu.
Cost cost(const Attributes& attributes, std::span<const TensorType> inputs,
          std::span<const TensorType> outputs) {
    const int per_element = 6 + (attributes.as<BatchNormAddReluAttributes>().relu ? 1 : 0);
    return cost_with_flops(per_element * static_cast<double>(outputs[0].shape.num_elements()), inputs,
                           outputs);
}

std::vector<ValueId> decompose(GraphBuilder& builder, const Node& node) {
    const auto& a = node.attributes.as<BatchNormAddReluAttributes>();
    const auto input = [&](int index) { return node.inputs[static_cast<std::size_t>(index)]; };
    const Shape x = builder.type(input(in::kX)).shape;
    const ValueId statistics =
        builder.add(channel_statistics_op, {}, {input(in::kX)}, node.name + ".statistics");
    const auto fold =
        builder.node(batch_norm_fold_op, BatchNormFoldAttributes{a.epsilon, x.num_elements() / x[-1]},
                     {statistics, input(in::kGamma), input(in::kBeta)}, node.name + ".fold");
    const bool adds = input(in::kAddend) != kNone;
    const ValueId y = adds ? builder.add(affine_add_relu_op, AffineAddReluAttributes{a.relu, false},
                                         {input(in::kX), fold[0], fold[1], input(in::kAddend), kNone, kNone},
                                         node.name + ".y")
                           : builder.add(channel_affine_op, ChannelAffineAttributes{a.relu},
                                         {input(in::kX), fold[0], fold[1]}, node.name + ".y");
    return {y, fold[0], fold[1], fold[2], fold[3]};
}

}  // namespace

const OpType batch_norm_add_relu_op = {
    .name = "batch_norm_add_relu",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == in::kX || index == in::kAddend; },
    .cost = cost,
    .decompose = decompose,
};

void register_batch_norm_add_relu(OpTable& table) {
    table.add(batch_norm_add_relu_op);
    table.add(batch_norm_joins);
    table.add(batch_norm_backward_joins);
}

}  // namespace mpt
