#include "ops/cached_attention/cached_attention.h"
#include "ops/samples.h"

namespace mpt {

void register_cached_attention_samples(SampleTable& table) {
    struct Case {
        Shape q;
        std::int64_t capacity;
        std::vector<double> lengths;
    };
    for (const auto& [q, capacity, lengths] :
         {Case{{1, 1, 1, 1}, 1, {1}}, Case{{3, 1, 2, 16}, 40, {40, 1, 0}}, Case{{2, 5, 3, 9}, 12, {12, 3}},
          Case{{1, 1, 4, 64}, 300, {257}}}) {
        SampleInput seen{{q[0]}, 0, 0, SampleInput::Kind::kIndices};
        seen.values = lengths;
        const Shape cache{q[0], capacity, 2, q[2], q[3]};
        const std::string name = to_string(q) + " over " + to_string(cache);
        for (const auto kind : {SampleInput::Kind::kData, SampleInput::Kind::kWide}) {
            Sample sample{name + (kind == SampleInput::Kind::kWide ? " wide" : ""),
                          &cached_attention_op,
                          {},
                          {{q, -2, 2}, {cache, -2, 2, kind}, seen}};
            sample.reduction_length = std::max(capacity, q[3]);
            sample.tolerance_factor = 4;  // as attention
            table.add(sample);
        }
    }
}

}  // namespace mpt
