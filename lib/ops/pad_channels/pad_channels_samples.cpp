#include "ops/pad_channels/pad_channels.h"
#include "ops/samples.h"

namespace mpt {

void register_pad_channels_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1}, Shape{5, 3}, Shape{16, 7, 7, 3}, Shape{2, 8}}) {
        const std::int64_t channels = (shape[-1] + 3) / 4 * 4;
        table.add({to_string(shape), &pad_channels_op, PadChannelsAttributes{channels}, {{shape}}});
        table.add({to_string(shape),
                   &pad_channels_backward_op,
                   PadChannelsAttributes{(shape[-1] + 1) / 2},
                   {{shape}}});
    }
}

}  // namespace mpt
