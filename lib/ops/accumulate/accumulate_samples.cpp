#include "ops/accumulate/accumulate.h"
#include "ops/samples.h"

namespace mpt {

void register_accumulate_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{1}, Shape{33}, Shape{16, 3, 3, 5}, Shape{70000}}) {
        SampleInput buffer{shape};
        buffer.kind = SampleInput::Kind::kWide;
        table.add({to_string(shape), &accumulate_op, {}, {buffer, {shape}}});
    }
}

}  // namespace mpt
