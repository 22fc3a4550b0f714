#include "ops/nll_loss/nll_loss.h"
#include "ops/samples.h"

namespace mpt {

void register_nll_loss_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1, 2}, Shape{7, 10}, Shape{5, 1000}})
        for (const double smoothing : {0.0, 0.1, 0.2}) {
            const std::int64_t padding = smoothing > 0.1 ? shape[1] / 4 : 0;  // columns that are no classes
            const LossAttributes attributes{smoothing, -1, padding > 0 ? shape[1] - padding : 0};
            SampleInput labels{{shape[0]}, -1, static_cast<double>(shape[1] - padding - 1)};
            labels.kind = SampleInput::Kind::kIndices;
            SampleInput seed{{}, 1, 3};
            seed.kind = SampleInput::Kind::kWide;
            Sample forward{to_string(shape), &nll_loss_op, attributes, {{shape, -9, -0.1}, labels}};
            forward.reduction_length = shape.num_elements();
            table.add(forward);
            table.add(
                {to_string(shape), &nll_loss_backward_op, attributes, {seed, {shape, -9, -0.1}, labels}});
            // Mixed: a second label, and the share of the first.
            SampleInput second = labels;
            second.low = 0;
            SampleInput share{{shape[0]}, 0, 1};
            share.kind = SampleInput::Kind::kWide;
            share.differentiable = false;
            Sample mixed = forward;
            mixed.name += " mixed";
            mixed.inputs.insert(mixed.inputs.end(), {second, share});
            table.add(mixed);
            table.add({to_string(shape) + " mixed",
                       &nll_loss_backward_op,
                       attributes,
                       {seed, {shape, -9, -0.1}, labels, second, share}});
        }
}

}  // namespace mpt
