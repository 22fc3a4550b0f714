#include "ops/batch_norm_add_relu/batch_norm_add_relu.h"
#include "ops/samples.h"

namespace mpt {

void register_batch_norm_add_relu_samples(SampleTable& table) {
    using Kind = SampleInput::Kind;
    for (const Shape& shape : {Shape{16, 33}, Shape{2, 3, 3, 5}, Shape{4, 7, 7, 64}}) {
        const std::int64_t c = shape[-1];
        const SampleInput gain{{c}, 0.5, 1.5, Kind::kWide}, bias{{c}, -1, 1, Kind::kWide};
        const SampleInput absent{{}, 0, 0, Kind::kAbsent};
        for (const bool relu : {false, true})
            for (const bool adds : {false, true}) {
                Sample sample{to_string(shape) + (adds ? " add" : "") + (relu ? " relu" : ""),
                              &batch_norm_add_relu_op,
                              BatchNormAddReluAttributes{1e-5, relu},
                              {{shape, -1, 2}, gain, bias, adds ? SampleInput{shape} : absent}};
                sample.reduction_length = shape.num_elements() / c;
                table.add(sample);
            }
    }
}

}  // namespace mpt
