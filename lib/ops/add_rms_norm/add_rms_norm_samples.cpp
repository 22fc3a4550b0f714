#include "ops/add_rms_norm/add_rms_norm.h"
#include "ops/samples.h"

namespace mpt {

void register_add_rms_norm_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1, 9}, Shape{3, 5}, Shape{5, 33}, Shape{2, 7, 64}, Shape{150, 77},
                               Shape{70, 96}, Shape{2, 1024}}) {
        const std::int64_t width = shape[-1];
        const Shape rows(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
        const SampleInput gain{{width}, 0.5, 1.5, SampleInput::Kind::kWide};
        Sample forward{
            to_string(shape), &add_rms_norm_op, RmsNormAttributes{}, {{shape, -1, 2}, {shape, -2, 1}, gain}};
        forward.reduction_length = width;
        forward.sums_stored = {1, 2};  // the norm is that of the stored sum
        forward.tolerance_factor = 2;
        forward.check_gradient = width <= 800;  // wider rows only add finite differences
        table.add(forward);
        Sample backward{to_string(shape),
                        &rms_norm_backward_add_op,
                        {},
                        {{shape}, {shape}, gain, {rows, 0.5, 2, SampleInput::Kind::kWide}, {shape, -3, 3}}};
        backward.reduction_length = std::max(width, shape.num_elements() / width);
        table.add(backward);
    }
}

}  // namespace mpt
