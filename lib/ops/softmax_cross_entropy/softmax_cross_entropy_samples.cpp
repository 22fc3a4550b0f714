#include <cmath>

#include "ops/samples.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace mpt {

void register_softmax_cross_entropy_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1, 2}, Shape{7, 10}, Shape{6, 33}, Shape{5, 1000}})
        for (const double smoothing : {0.0, 0.1, 0.2}) {
            const std::int64_t padding = smoothing > 0.1 ? shape[1] / 4 : 0;  // columns that are no classes
            const std::int64_t classes = shape[1] - padding;
            const LossAttributes attributes{smoothing, -1, padding > 0 ? classes : 0};
            SampleInput labels{{shape[0]}, -1, static_cast<double>(classes - 1)};
            labels.kind = SampleInput::Kind::kIndices;
            SampleInput seed{{}, 1, 3};
            seed.kind = SampleInput::Kind::kWide;
            Sample forward{to_string(shape), &softmax_cross_entropy_op, attributes, {{shape, -2, 2}, labels}};
            forward.tolerance_factor = 8;  // the loss is a difference of greater numbers
            forward.reduction_length = shape.num_elements();
            table.add(forward);
            // Its decomposition makes the log-sum-exp itself, so that the sample needs the true one: equal
            // logits.
            SampleInput logits{shape};
            logits.values.assign(static_cast<std::size_t>(shape.num_elements()), 0.5);
            SampleInput logsumexp{{shape[0]}};
            logsumexp.kind = SampleInput::Kind::kWide;
            logsumexp.values.assign(static_cast<std::size_t>(shape[0]),
                                    0.5 + std::log(static_cast<double>(classes)));
            Sample backward{to_string(shape),
                            &softmax_cross_entropy_backward_op,
                            attributes,
                            {seed, logits, labels, logsumexp}};
            table.add(backward);
            // Mixed: a second label, and the share of the first.
            SampleInput second = labels;
            second.low = 0;
            SampleInput share{{shape[0]}, 0, 1};
            share.kind = SampleInput::Kind::kWide;
            share.differentiable = false;
            for (Sample sample : {forward, backward}) {
                sample.name += " mixed";
                sample.inputs.insert(sample.inputs.end(), {second, share});
                table.add(sample);
            }
        }
}

}  // namespace mpt
