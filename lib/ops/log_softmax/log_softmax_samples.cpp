#include "ops/log_softmax/log_softmax.h"
#include "ops/samples.h"

namespace mpt {

void register_log_softmax_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 10}, Shape{9, 1000}})
        for (const std::int64_t vocabulary : {std::int64_t{0}, shape[1] - 3}) {
            if (vocabulary < 0) continue;
            const LogSoftmaxAttributes attributes{vocabulary};
            Sample forward{to_string(shape), &log_softmax_op, attributes, {{shape, -5, 5}}};
            forward.reduction_length = shape[1];
            table.add(forward);
            Sample backward{
                to_string(shape), &log_softmax_backward_op, attributes, {{shape}, {shape, -9, -0.1}}};
            backward.reduction_length = shape[1];
            table.add(backward);
        }
}

}  // namespace mpt
