#include "ops/conv2d_fused/conv2d_fused.h"

#include <fmt/format.h>

#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d_fused/rewrites.h"
#include "ops/cost.h"

namespace mpt {

std::string print(const Conv2dFusedAttributes& a) {
    return fmt::format("stride={} pad={}{}{}{}", a.stride, a.pad, a.input_affine ? " input_affine" : "",
                       a.input_relu ? " input_relu" : "", a.statistics ? " statistics" : "");
}

namespace {

namespace in = conv2d_fused_input;

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<Conv2dFusedAttributes>();
    const Shape& x = inputs[in::kX].shape;
    if (a.input_affine)
        MPT_CHECK(inputs[in::kScale].shape == Shape{x[-1]} && inputs[in::kShift].shape == Shape{x[-1]},
                  "conv2d_fused: scale or shift of another length than " + to_string(x));
    MPT_CHECK(a.input_affine || !a.input_relu, "conv2d_fused: a relu without an affine");
    const std::vector<TensorType> plain = {inputs[in::kX], inputs[in::kW]};
    std::vector<TensorType> outputs = conv2d_op.infer(Conv2dAttributes{a.stride, a.pad}, plain);
    if (a.statistics) outputs.push_back({{2, outputs[0].shape[-1]}, wide_of(inputs[in::kX].dtype)});
    return outputs;
}

Cost cost(const Attributes& attributes, std::span<const TensorType> inputs,
          std::span<const TensorType> outputs) {
    const auto& a = attributes.as<Conv2dFusedAttributes>();
    const auto elements = [](const TensorType& type) {
        return static_cast<double>(type.shape.num_elements());
    };
    const Shape& y = outputs[0].shape;
    double flops = 2.0 * static_cast<double>(y[0] * y[1] * y[2]) * elements(inputs[in::kW]);
    if (a.input_affine) flops += 3 * elements(inputs[in::kX]);
    if (a.statistics) flops += 3 * elements(outputs[0]);
    return cost_with_flops(flops, inputs, outputs);
}

std::vector<ValueId> decompose(GraphBuilder& builder, const Node& node) {
    const auto& a = node.attributes.as<Conv2dFusedAttributes>();
    ValueId x = node.inputs[in::kX];
    if (a.input_affine)
        x = builder.add(channel_affine_op, ChannelAffineAttributes{a.input_relu},
                        {x, node.inputs[in::kScale], node.inputs[in::kShift]}, node.name + ".affine");
    const ValueId y = conv2d(builder, x, node.inputs[in::kW], {a.stride, a.pad}, node.name + ".conv2d");
    if (!a.statistics) return {y};
    return {y, builder.add(channel_statistics_op, {}, {y}, node.name + ".statistics")};
}

}  // namespace

const OpType conv2d_fused_op = {
    .name = "conv2d_fused",
    .precision = PrecisionClass::kNarrow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == in::kX || index == in::kW; },
    .cost = cost,
    .decompose = decompose,
};

void register_conv2d_fused(OpTable& table) {
    table.add(conv2d_fused_op);
    table.add(conv2d_takes_statistics);
    table.add(conv2d_takes_affine);
}

}  // namespace mpt
