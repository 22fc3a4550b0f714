#include "ops/samples.h"
#include "ops/swiglu/swiglu.h"

namespace mpt {

void register_swiglu_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1}, Shape{4, 33}, Shape{3, 20000}}) {
        table.add({to_string(shape), &swiglu_op, {}, {{shape, -6, 6}, {shape, -2, 2}}});
        table.add({to_string(shape), &swiglu_backward_op, {}, {{shape}, {shape, -6, 6}, {shape, -2, 2}}});
    }
}

}  // namespace mpt
