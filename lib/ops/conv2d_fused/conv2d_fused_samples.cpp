#include <fmt/format.h>

#include "ops/conv2d_fused/conv2d_fused.h"
#include "ops/samples.h"

namespace mpt {

void register_conv2d_fused_samples(SampleTable& table) {
    using Kind = SampleInput::Kind;
    struct Case {
        Shape x;
        std::int64_t out_channels, kernel, stride, pad;
    };
    for (const Case& c : {Case{{2, 8, 8, 16}, 16, 3, 1, 1}, Case{{2, 8, 8, 16}, 32, 3, 2, 1},
                          Case{{2, 7, 9, 16}, 32, 1, 2, 0}, Case{{3, 5, 5, 64}, 32, 1, 1, 0},
                          Case{{1, 9, 9, 3}, 8, 7, 2, 3}}) {
        const SampleInput x{c.x};
        const SampleInput w{{c.out_channels, c.kernel, c.kernel, c.x[3]}};
        const SampleInput vector{{c.x[3]}, -2, 2, Kind::kWide};
        const SampleInput absent{{}, 0, 0, Kind::kAbsent};
        for (const bool affine : {false, true})
            for (const bool relu : {false, true})
                for (const bool statistics : {false, true}) {
                    if (relu && !affine) continue;
                    const Conv2dFusedAttributes attributes{c.stride, c.pad, affine, relu, statistics};
                    Sample sample;
                    sample.name =
                        fmt::format("{} out={} kernel={}", to_string(c.x), c.out_channels, c.kernel);
                    sample.op = &conv2d_fused_op;
                    sample.attributes = attributes;
                    sample.inputs = {x, affine ? vector : absent, affine ? vector : absent, w};
                    sample.reduction_length = c.kernel * c.kernel * c.x[3];
                    if (statistics) sample.sums_stored = {1};
                    table.add(std::move(sample));
                }
    }
}

}  // namespace mpt
