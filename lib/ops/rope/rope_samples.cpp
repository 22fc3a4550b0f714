#include "ops/rope/rope.h"
#include "ops/samples.h"

namespace mpt {

void register_rope_samples(SampleTable& table) {
    const SampleInput absent{{}, 0, 0, SampleInput::Kind::kAbsent};
    SampleInput offset{{}, 0, 0, SampleInput::Kind::kIndices};
    offset.values = {37};
    for (const Shape& shape : {Shape{1, 1, 1, 2}, Shape{2, 5, 3, 6}, Shape{2, 9, 2, 32}, Shape{1, 70, 2, 80}})
        for (const bool inverse : {false, true}) {
            const RopeAttributes attributes{10000, inverse};
            table.add({to_string(shape), &rope_op, attributes, {{shape}, absent}});
            table.add({to_string(shape) + " from 37", &rope_op, attributes, {{shape}, offset}});
        }
}

}  // namespace mpt
