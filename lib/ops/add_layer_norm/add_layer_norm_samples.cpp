#include "ops/add_layer_norm/add_layer_norm.h"
#include "ops/samples.h"

namespace mpt {

void register_add_layer_norm_samples(SampleTable& table) {
    const auto wide = [](const Shape& shape, double low, double high) {
        return SampleInput{shape, low, high, SampleInput::Kind::kWide};
    };
    for (const Shape& shape : {Shape{1, 9}, Shape{3, 5}, Shape{5, 33}, Shape{2, 7, 64}, Shape{150, 77},
                               Shape{70, 96}, Shape{2, 1024}}) {
        const std::int64_t width = shape[-1];
        const Shape rows(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
        const SampleInput gain = wide({width}, 0.5, 1.5), bias = wide({width}, -1, 1);
        Sample forward{to_string(shape),
                       &add_layer_norm_op,
                       LayerNormAttributes{},
                       {{shape, -1, 2}, {shape, -2, 1}, gain, bias}};
        forward.reduction_length = width;
        forward.sums_stored = {1, 2, 3};  // the norm is that of the stored sum
        forward.tolerance_factor = 2;
        forward.check_gradient = width <= 800;  // wider rows only add finite differences
        table.add(forward);
        forward.name += " no bias";
        forward.inputs[3].kind = SampleInput::Kind::kAbsent;
        table.add(forward);
        Sample backward{to_string(shape),
                        &layer_norm_backward_add_op,
                        {},
                        {{shape}, {shape}, gain, wide(rows, -0.5, 0.5), wide(rows, 0.5, 2), {shape, -3, 3}}};
        backward.reduction_length = std::max(width, shape.num_elements() / width);
        table.add(backward);
    }
}

}  // namespace mpt
