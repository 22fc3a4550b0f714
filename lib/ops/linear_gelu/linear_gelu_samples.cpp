#include "ops/linear_gelu/linear_gelu.h"
#include "ops/samples.h"

namespace mpt {

void register_linear_gelu_samples(SampleTable& table) {
    struct Extent {
        std::int64_t rows, in, out;
    };
    for (const Extent& e : {Extent{1, 1, 1}, Extent{4, 8, 24}, Extent{33, 70, 17}, Extent{67, 300, 40}})
        for (const bool has_bias : {true, false}) {
            SampleInput bias{{e.out}, -1, 1, SampleInput::Kind::kWide};
            if (!has_bias) bias.kind = SampleInput::Kind::kAbsent;
            Sample sample{to_string(Shape{e.rows, e.in, e.out}) + (has_bias ? "" : " no bias"),
                          &linear_gelu_op,
                          {},
                          {{{e.rows, e.in}, -1, 1}, {{e.out, e.in}, -1, 1}, bias}};
            sample.reduction_length = e.in;
            // Apart, gelu is of the sum as it is stored.
            sample.sums_stored = {0};
            table.add(sample);
        }
}

}  // namespace mpt
