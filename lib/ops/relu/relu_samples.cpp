#include "ops/relu/relu.h"
#include "ops/samples.h"

namespace mpt {

void register_relu_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{4, 33}, Shape{2, 5, 5, 16}}) {
        table.add({to_string(shape), &relu_op, {}, {{shape}}});
        table.add({to_string(shape), &relu_backward_op, {}, {{shape}, {shape}}});
    }
}

}  // namespace mpt
