#include <fmt/format.h>

#include "ops/conv2d_backward_fused/conv2d_backward_fused.h"
#include "ops/samples.h"

namespace mpt {

namespace {

namespace in = conv2d_backward_fused_input;

struct Case {
    Shape x;
    std::int64_t out_channels, kernel, stride, pad;
};

Sample sample_of(const Case& c, Conv2dBackwardFusedAttributes a) {
    using Kind = SampleInput::Kind;
    a.stride = c.stride;
    a.pad = c.pad;
    a.height = c.x[1];
    a.width = c.x[2];
    a.kernel_h = a.kernel_w = c.kernel;
    const auto extent = [&](std::int64_t size) { return (size + 2 * c.pad - c.kernel) / c.stride + 1; };
    const SampleInput x{c.x}, g{{c.x[0], extent(c.x[1]), extent(c.x[2]), c.out_channels}};
    const Shape w{c.out_channels, c.kernel, c.kernel, c.x[3]};
    const auto vector = [](std::int64_t n) { return SampleInput{{n}, -2, 2, Kind::kWide}; };
    const bool reads_x = a.need_weight || a.mask != InputMask::kOff;

    Sample sample;
    sample.op = &conv2d_backward_fused_op_for(a);
    sample.attributes = a;
    sample.name = fmt::format("{} out={}", to_string(c.x), c.out_channels);
    sample.inputs.assign(in::kCount, SampleInput{{}, 0, 0, Kind::kAbsent});
    const auto give = [&](bool given, int index, const SampleInput& input) {
        if (given) sample.inputs[static_cast<std::size_t>(index)] = input;
    };
    give(reads_x, in::kX, x);
    for (const int i : {in::kScale, in::kShift}) give(a.input_affine, i, vector(c.x[3]));
    give(a.need_data, in::kW, {w});
    give(true, in::kG, g);
    give(a.grad_affine, in::kY, g);
    for (const int i : {in::kA, in::kB, in::kC}) give(a.grad_affine, i, vector(c.out_channels));
    give(a.add, in::kAddend, x);
    give(a.num_references >= 1, in::kRef1, x);
    give(a.num_references >= 2, in::kRef2, x);
    give(a.need_weight, in::kBuffer, {w, -1, 1, Kind::kWide});
    if (a.reductions) sample.sums_stored = {outputs_of(a).reductions};
    // The longest sum: the weight gradient's over pixels, or the data gradient's over kernel and channels.
    sample.reduction_length =
        std::max(g.shape[0] * g.shape[1] * g.shape[2], c.kernel * c.kernel * c.out_channels);
    return sample;
}

}  // namespace

void register_conv2d_backward_fused_samples(SampleTable& table) {
    for (const Case& c : {Case{{2, 8, 8, 16}, 16, 3, 1, 1}, Case{{2, 8, 8, 16}, 32, 3, 2, 1},
                          Case{{2, 7, 9, 16}, 32, 1, 2, 0}, Case{{3, 5, 5, 64}, 32, 1, 1, 0},
                          Case{{1, 9, 9, 3}, 8, 7, 2, 3}}) {
        Conv2dBackwardFusedAttributes a;
        a.need_weight = true;
        table.add(sample_of(c, a));
        a.grad_affine = a.input_affine = a.input_relu = true;
        table.add(sample_of(c, a));  // weight alone, all prologues
        a.need_data = true;
        a.mask = InputMask::kInputAffine;
        a.reductions = true;
        a.num_references = 1;
        table.add(sample_of(c, a));  // inside a block
        a.input_affine = a.input_relu = false;
        a.mask = InputMask::kInput;
        a.add = true;
        a.num_references = 2;
        table.add(sample_of(c, a));  // where two gradients meet, above a projection
        a = {};
        a.need_data = a.need_weight = true;
        table.add(sample_of(c, a));  // plain
        a.need_weight = false;
        table.add(sample_of(c, a));  // data alone
        a.add = a.grad_affine = a.reductions = true;
        a.mask = InputMask::kInput;
        a.num_references = 1;
        table.add(sample_of(c, a));
        // What a GPU's library takes: the gradient as it comes.
        a.grad_affine = false;
        table.add(sample_of(c, a));
        a.num_references = 2;
        table.add(sample_of(c, a));
        a.add = false;
        a.mask = InputMask::kInputAffine;
        a.input_affine = a.input_relu = true;
        a.num_references = 1;
        table.add(sample_of(c, a));
        a.reductions = false;
        a.num_references = 0;
        table.add(sample_of(c, a));
    }
}

}  // namespace mpt
