#include "ops/dropout/dropout.h"
#include "ops/samples.h"

namespace mpt {

void register_dropout_samples(SampleTable& table) {
    SampleInput step{{}, 0, 0, SampleInput::Kind::kIndices};
    step.values = {12345};
    for (const Shape& shape : {Shape{1}, Shape{7}, Shape{4, 33}, Shape{2, 32, 32}, Shape{3, 7001}})
        for (const DropoutAttributes& attributes :
             {DropoutAttributes{0.1, 20260101, 3}, DropoutAttributes{0, 5, 0},
              DropoutAttributes{0.75, 0xfedcba9876543210ull, 0xffffffffu}})
            table.add({to_string(shape), &dropout_op, attributes, {{shape}, step}});
}

}  // namespace mpt
