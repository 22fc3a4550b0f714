#include "ops/rope/rope.h"
#include "ops/samples.h"

namespace mpt {

void register_rope_samples(SampleTable& table) {
    const SampleInput absent{{}, 0, 0, SampleInput::Kind::kAbsent};
    SampleInput offset{{}, 0, 0, SampleInput::Kind::kIndices};
    offset.values = {37};
    struct Case {
        Shape shape;
        std::int64_t parts;
    };
    for (const auto& [shape, parts] :
         {Case{{1, 1, 1, 2}, 1}, Case{{2, 5, 3, 6}, 1}, Case{{2, 9, 2, 32}, 1}, Case{{1, 70, 2, 80}, 1},
          Case{{2, 5, 3, 2, 18}, 2}, Case{{3, 40, 3, 2, 32}, 2}, Case{{2, 7, 2, 1, 4}, 1}})
        for (const bool inverse : {false, true}) {
            const RopeAttributes attributes{10000, inverse, parts};
            table.add({to_string(shape), &rope_op, attributes, {{shape}, absent}});
            table.add({to_string(shape) + " from 37", &rope_op, attributes, {{shape}, offset}});
            const SampleInput offsets{{shape[0]}, 0, 90, SampleInput::Kind::kIndices};
            table.add({to_string(shape) + " from anywhere", &rope_op, attributes, {{shape}, offsets}});
        }
}

}  // namespace mpt
