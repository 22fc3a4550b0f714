#include "ops/cache_append/cache_append.h"
#include "ops/samples.h"

namespace mpt {

void register_cache_append_samples(SampleTable& table) {
    struct Case {
        Shape cache;
        std::int64_t count;
        std::vector<double> position;
    };
    for (const auto& [cache, count, position] :
         {Case{{1, 1, 1, 1, 1}, 1, {0}}, Case{{2, 9, 2, 3, 5}, 1, {8, 3}},
          Case{{3, 20, 2, 2, 16}, 7, {0, 13, 5}}}) {
        const Shape rows{cache[0], count, cache[2], cache[3], cache[4]};
        SampleInput at{{cache[0]}, 0, 0, SampleInput::Kind::kIndices};
        at.values = position;
        table.add({to_string(rows) + " to " + to_string(cache),
                   &cache_append_op,
                   {},
                   {{cache}, {rows, -2, 2}, at}});
        // A cache of f32 takes rows of any type.
        table.add({to_string(rows) + " to wide " + to_string(cache),
                   &cache_append_op,
                   {},
                   {{cache, -1, 1, SampleInput::Kind::kWide}, {rows, -2, 2}, at}});
    }
}

}  // namespace mpt
