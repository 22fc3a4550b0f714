#include "ops/channel_affine/channel_affine.h"
#include "ops/samples.h"

namespace mpt {

void register_channel_affine_samples(SampleTable& table) {
    using Kind = SampleInput::Kind;
    for (const Shape& shape : {Shape{3, 1}, Shape{2, 5, 5, 16}, Shape{1, 3, 7, 13}, Shape{4, 2, 3, 40}}) {
        const SampleInput data{shape};
        const SampleInput vector{{shape[-1]}, -2, 2, Kind::kWide};
        const SampleInput absent{{}, 0, 0, Kind::kAbsent};
        for (const bool relu : {false, true}) {
            const std::string name = to_string(shape) + (relu ? " relu" : "");
            table.add({name, &channel_affine_op, ChannelAffineAttributes{relu}, {data, vector, vector}});
            table.add({name + " identity",
                       &affine_add_relu_op,
                       AffineAddReluAttributes{relu, false},
                       {data, vector, vector, data, absent, absent}});
            for (const bool second : {false, true})
                table.add({name + (second ? " second_relu" : " second"),
                           &affine_add_relu_op,
                           AffineAddReluAttributes{relu, second},
                           {data, vector, vector, data, vector, vector}});
        }
    }
}

}  // namespace mpt
