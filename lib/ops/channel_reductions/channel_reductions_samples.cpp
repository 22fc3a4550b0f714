#include "ops/channel_reductions/channel_reductions.h"
#include "ops/samples.h"

namespace mpt {

namespace {

void add_sums(SampleTable& table, const Shape& shape) {
    using Kind = SampleInput::Kind;
    const SampleInput data{shape};
    const SampleInput vector{{shape[-1]}, -2, 2, Kind::kWide};
    const SampleInput absent{{}, 0, 0, Kind::kAbsent};
    const std::int64_t pixels = shape.num_elements() / shape[-1];
    const auto add = [&](Sample sample) {
        sample.reduction_length = pixels;
        table.add(std::move(sample));
    };
    const std::string name = to_string(shape);
    add({name, &channel_statistics_op, {}, {data}});
    for (const int n : {1, 2}) {
        const std::string references = name + " references=" + std::to_string(n);
        const SampleInput second = n == 2 ? data : absent;
        add({references, &channel_reductions_op, ChannelReductionsAttributes{n}, {data, data, second}});
        add({references,
             &relu_backward_reductions_op,
             ReluBackwardReductionsAttributes{false, n},
             {data, data, absent, absent, data, second}});
        add({references + " affine",
             &relu_backward_reductions_op,
             ReluBackwardReductionsAttributes{true, n},
             {data, data, vector, vector, data, second}});
    }
    table.add({name, &channel_combine_op, {}, {data, data, vector, vector, vector}});
}

}  // namespace

void register_channel_reductions_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{3, 1}, Shape{2, 5, 5, 16}, Shape{1, 3, 7, 13}, Shape{4, 9, 5, 40}})
        add_sums(table, shape);
}

}  // namespace mpt
