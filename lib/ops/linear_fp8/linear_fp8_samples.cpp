#include "ops/linear_fp8/linear_fp8.h"
#include "ops/samples.h"

namespace mpt {

namespace {

using Kind = SampleInput::Kind;

struct Extent {
    std::int64_t m, n, k;
};

SampleInput scale_of(double value) {
    return {Shape{}, 0, 0, Kind::kWide, false, {value}};
}

void add_case(SampleTable& table, const Extent& e, Kind kind_of_a, DType result) {
    const SampleInput a{{e.m, e.k}, -3, 3, kind_of_a}, b{{e.n, e.k}, -2, 2, Kind::kE4m3};
    const SampleInput absent{{}, 0, 0, Kind::kAbsent}, bias{{e.n}, -1, 1, Kind::kWide};
    const std::string name = to_string(Shape{e.m, e.n, e.k}) + (kind_of_a == Kind::kE5m2 ? " e5m2" : " e4m3");
    Sample plain{
        name, &linear_fp8_op, LinearFp8Attributes{result}, {a, b, scale_of(0.25), scale_of(0x1p-20), absent}};
    plain.reduction_length = e.k;
    plain.check_gradient = false;
    // The reference's result is rounded, too.
    plain.tolerance_factor = 2.1;
    table.add(plain);
    plain.name += " bias";
    plain.inputs[3] = scale_of(0.5);
    plain.inputs[4] = bias;
    table.add(plain);
    if (result != DType::f32) return;
    Sample added{name,
                 &linear_fp8_accumulate_op,
                 {},
                 {{{e.m, e.n}, -1, 1, Kind::kWide}, a, b, scale_of(0.25), scale_of(2)}};
    added.reduction_length = e.k;
    added.check_gradient = false;
    table.add(added);
}

}  // namespace

void register_linear_fp8_samples(SampleTable& table) {
    for (const Extent& extent :
         {Extent{16, 16, 16}, Extent{48, 96, 32}, Extent{7, 32, 48}, Extent{80, 64, 1040}})
        for (const Kind kind : {Kind::kE4m3, Kind::kE5m2})
            for (const DType result : {DType::bf16, DType::f32}) add_case(table, extent, kind, result);
}

}  // namespace mpt
