#include "ops/global_avg_pool/global_avg_pool.h"
#include "ops/samples.h"

namespace mpt {

void register_global_avg_pool_samples(SampleTable& table) {
    for (const Shape& shape :
         {Shape{1, 1, 1, 1}, Shape{2, 3, 5, 7}, Shape{3, 7, 7, 64}, Shape{5, 8, 8, 33}}) {
        Sample sample{to_string(shape), &global_avg_pool_op, {}, {{shape}}};
        sample.reduction_length = shape[1] * shape[2];
        table.add(sample);
        table.add({to_string(shape),
                   &global_avg_pool_backward_op,
                   GlobalAvgPoolBackwardAttributes{shape[1], shape[2]},
                   {{{shape[0], shape[3]}}}});
    }
}

}  // namespace mpt
