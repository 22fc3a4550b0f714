#include "ops/pad_channels/pad_channels.h"

#include "core/error.h"
#include "graph/op.h"

namespace mpt {

std::string print(const PadChannelsAttributes& a) {
    return "channels=" + std::to_string(a.channels);
}

namespace {

TensorType with_channels(const TensorType& type, std::int64_t channels) {
    std::vector<std::int64_t> dims = type.shape.dims();
    dims.back() = channels;
    return {Shape(std::move(dims)), type.dtype};
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const std::int64_t channels = attributes.as<PadChannelsAttributes>().channels;
    MPT_CHECK(inputs[0].shape.rank() >= 1 && inputs[0].shape[-1] <= channels,
              "pad_channels of " + to_string(inputs[0].shape) + " to " + std::to_string(channels));
    return {with_channels(inputs[0], channels)};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    const std::int64_t channels = attributes.as<PadChannelsAttributes>().channels;
    MPT_CHECK(inputs[0].shape.rank() >= 1 && channels >= 1 && channels <= inputs[0].shape[-1],
              "pad_channels_backward of " + to_string(inputs[0].shape) + " to " + std::to_string(channels));
    return {with_channels(inputs[0], channels)};
}

void differentiate(GradientContext& context) {
    context.set(0, pad_channels_backward(context.builder, context.grad(),
                                         context.builder.type(context.in(0)).shape[-1], "backward"));
}

}  // namespace

const OpType pad_channels_op = {
    .name = "pad_channels",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .differentiate = differentiate,
};

const OpType pad_channels_backward_op = {
    .name = "pad_channels_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
};

ValueId pad_channels(GraphBuilder& builder, ValueId x, std::int64_t channels, const std::string& name) {
    return builder.add(pad_channels_op, PadChannelsAttributes{channels}, {x}, name);
}

ValueId pad_channels_backward(GraphBuilder& builder, ValueId grad_y, std::int64_t channels,
                              const std::string& name) {
    return builder.add(pad_channels_backward_op, PadChannelsAttributes{channels}, {grad_y}, name);
}

void register_pad_channels(OpTable& table) {
    table.add(pad_channels_op);
    table.add(pad_channels_backward_op);
}

}  // namespace mpt
