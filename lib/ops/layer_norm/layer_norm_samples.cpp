#include "ops/layer_norm/layer_norm.h"
#include "ops/samples.h"

namespace mpt {

namespace {

SampleInput wide(const Shape& shape, double low, double high) {
    return {shape, low, high, SampleInput::Kind::kWide};
}

Shape rows_of(const Shape& shape) {
    return Shape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 1));
}

constexpr std::int64_t kMostDifferences = 800;  // wider rows only add finite differences

void add_shape(SampleTable& table, const Shape& shape) {
    const std::int64_t width = shape[-1];
    const SampleInput gain = wide({width}, 0.5, 1.5), bias = wide({width}, -1, 1);
    Sample forward{to_string(shape), &layer_norm_op, LayerNormAttributes{}, {{shape, -1, 2}, gain, bias}};
    forward.reduction_length = width;
    forward.check_gradient = width <= kMostDifferences;
    table.add(forward);
    forward.name += " no bias";
    forward.inputs[2].kind = SampleInput::Kind::kAbsent;
    table.add(forward);
    Sample backward{to_string(shape),
                    &layer_norm_backward_op,
                    {},
                    {{shape}, {shape}, gain, wide(rows_of(shape), -0.5, 0.5), wide(rows_of(shape), 0.5, 2)}};
    backward.reduction_length = std::max(width, shape.num_elements() / width);
    table.add(backward);
}

}  // namespace

void register_layer_norm_samples(SampleTable& table) {
    for (const Shape& shape :
         {Shape{1, 2}, Shape{3, 5}, Shape{5, 33}, Shape{2, 7, 64}, Shape{150, 77}, Shape{2, 3, 768},
          Shape{70, 96}, Shape{2, 1016}, Shape{5, 1024}, Shape{2, 2304}, Shape{1, 4096}, Shape{2, 4104}})
        add_shape(table, shape);
    // A mean far from zero: sums of squares in f32 would cancel.
    Sample far{"[4x200] far mean",
               &layer_norm_op,
               LayerNormAttributes{},
               {{{4, 200}, 1000, 1002}, wide({200}, 0.5, 1.5), wide({200}, -1, 1)}};
    far.tolerance_factor = 500;  // (x - mean) of f32 values near 1000, and mean is rounded to f32
    far.check_gradient = false;
    table.add(far);
    // All values equal: rstd is 1 / sqrt(epsilon), y the bias.
    SampleInput equal{{2, 24}};
    equal.values.assign(48, 0.75);
    Sample constant{"[2x24] equal values",
                    &layer_norm_op,
                    LayerNormAttributes{},
                    {equal, wide({24}, 0.5, 1.5), wide({24}, -1, 1)}};
    constant.check_gradient = false;
    table.add(constant);
}

}  // namespace mpt
