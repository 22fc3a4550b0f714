#include "ops/rms_norm/rms_norm.h"
#include "ops/samples.h"

namespace mpt {

void register_rms_norm_samples(SampleTable& table) {
    for (const Shape& shape :
         {Shape{1, 2}, Shape{3, 5}, Shape{5, 33}, Shape{2, 7, 64}, Shape{150, 77}, Shape{2, 3, 768},
          Shape{70, 96}, Shape{2, 1016}, Shape{5, 1024}, Shape{2, 2304}, Shape{1, 4096}, Shape{2, 4104}}) {
        const std::int64_t width = shape[-1];
        const Shape rows(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
        const SampleInput gain{{width}, 0.5, 1.5, SampleInput::Kind::kWide};
        const SampleInput rstd{rows, 0.5, 2, SampleInput::Kind::kWide};
        Sample forward{to_string(shape), &rms_norm_op, RmsNormAttributes{}, {{shape, -1, 2}, gain}};
        forward.reduction_length = width;
        forward.check_gradient = width <= 800;  // wider rows only add finite differences
        table.add(forward);
        Sample backward{to_string(shape), &rms_norm_backward_op, {}, {{shape}, {shape}, gain, rstd}};
        backward.reduction_length = std::max(width, shape.num_elements() / width);
        table.add(backward);
    }
    // All zeros: rstd is 1 / sqrt(epsilon), y zero.
    Sample zeros{"[2x24] zeros",
                 &rms_norm_op,
                 RmsNormAttributes{},
                 {{{2, 24}, 0, 0}, {{24}, 0.5, 1.5, SampleInput::Kind::kWide}}};
    zeros.check_gradient = false;
    table.add(zeros);
}

}  // namespace mpt
