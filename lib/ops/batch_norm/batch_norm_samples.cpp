#include "ops/batch_norm/batch_norm.h"
#include "ops/samples.h"

namespace mpt {

namespace {

SampleInput wide(std::int64_t channels, double low, double high) {
    SampleInput input{{channels}, low, high};
    input.kind = SampleInput::Kind::kWide;
    return input;
}

void add_shape(SampleTable& table, const Shape& shape) {
    const std::int64_t c = shape[-1], rows = shape.num_elements() / c;
    const SampleInput gain = wide(c, 0.5, 1.5), bias = wide(c, -1, 1), mean = wide(c, -0.5, 0.5),
                      spread = wide(c, 0.5, 2);
    Sample forward{to_string(shape), &batch_norm_op, BatchNormAttributes{}, {{shape, -1, 2}, gain, bias}};
    forward.reduction_length = rows;
    table.add(forward);
    for (const OpType* op : {&batch_norm_backward_op, &batch_norm_backward_fused_op}) {
        Sample backward{to_string(shape), op, {}, {{shape}, {shape}, gain, mean, spread}};
        backward.reduction_length = rows;
        table.add(backward);
    }
    table.add({to_string(shape),
               &batch_norm_inference_op,
               BatchNormAttributes{1e-3},
               {{shape}, gain, bias, mean, spread}});
    table.add({to_string(Shape{c}),
               &running_statistics_op,
               RunningStatisticsAttributes{0.1, 1e-5, rows},
               {mean, spread, mean, spread}});
}

}  // namespace

void register_batch_norm_samples(SampleTable& table) {
    for (const Shape& shape :
         {Shape{2, 1}, Shape{16, 33}, Shape{2, 3, 3, 5}, Shape{4, 7, 7, 64}, Shape{3, 5, 5, 20}})
        add_shape(table, shape);
    // A mean far from zero: sums of squares in f32 would cancel.
    Sample far{"[8x6x6x16] far mean",
               &batch_norm_op,
               BatchNormAttributes{},
               {{{8, 6, 6, 16}, 1000, 1002}, wide(16, 0.5, 1.5), wide(16, -1, 1)}};
    far.tolerance_factor = 500;  // (x - mean) of f32 values near 1000, and mean is rounded to f32
    far.check_gradient = false;
    table.add(far);
    // One value a channel: rstd is 1 / sqrt(epsilon).
    Sample single{"[1x1x1x4] one value",
                  &batch_norm_op,
                  BatchNormAttributes{},
                  {{{1, 1, 1, 4}}, wide(4, 0.5, 1.5), wide(4, -1, 1)}};
    single.check_gradient = false;
    table.add(single);
}

}  // namespace mpt
