// pad_channels: x[...,C] -> y[...,channels], zero behind the first C. For convolutions on GPUs, which want
// channels in whole words of their loads. pad_channels_backward cuts them off again: (grad_y[...,channels])
// -> grad_x[...,C].
#pragma once

#include "graph/builder.h"

namespace mpt {

struct PadChannelsAttributes {
    std::int64_t channels = 0;  // of the output of either op
    bool operator==(const PadChannelsAttributes&) const = default;
};
std::string print(const PadChannelsAttributes& attributes);

extern const OpType pad_channels_op;
extern const OpType pad_channels_backward_op;

ValueId pad_channels(GraphBuilder& builder, ValueId x, std::int64_t channels,
                     const std::string& name = "pad_channels");
ValueId pad_channels_backward(GraphBuilder& builder, ValueId grad_y, std::int64_t channels,
                              const std::string& name = "pad_channels.backward");

}  // namespace mpt
