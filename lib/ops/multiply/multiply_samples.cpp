#include "ops/multiply/multiply.h"
#include "ops/samples.h"

namespace mpt {

void register_multiply_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{4, 33}, Shape{2, 5, 5, 16}})
        table.add({to_string(shape), &multiply_op, {}, {{shape}, {shape}}});
}

}  // namespace mpt
