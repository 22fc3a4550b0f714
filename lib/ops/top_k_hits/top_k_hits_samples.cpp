#include "ops/samples.h"
#include "ops/top_k_hits/top_k_hits.h"

namespace mpt {

void register_top_k_hits_samples(SampleTable& table) {
    for (const Shape& shape : {Shape{4, 1}, Shape{9, 3}, Shape{100, 10}, Shape{64, 33}, Shape{20, 1000}}) {
        SampleInput labels{{shape[0]}, -1, static_cast<double>(shape[1] - 1)};
        labels.kind = SampleInput::Kind::kIndices;
        table.add({to_string(shape), &top_k_hits_op, TopKHitsAttributes{}, {{shape}, labels}});
        // Few different values: ties in almost every row.
        SampleInput ties{shape};
        for (std::int64_t i = 0; i < shape.num_elements(); ++i)
            ties.values.push_back(static_cast<double>(i * 7 % 5) * 0.5);
        table.add({to_string(shape) + " ties", &top_k_hits_op, TopKHitsAttributes{}, {ties, labels}});
    }
}

}  // namespace mpt
