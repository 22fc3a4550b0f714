#include "ops/samples.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

void register_sum_rows_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1, 1}, Shape{5, 3}, Shape{64, 33}, Shape{300, 1000}}) {
        Sample sample{to_string(shape), &sum_rows_op, {}, {{shape}}};
        sample.reduction_length = shape[0];
        table.add(sample);
    }
}

}  // namespace mpt
