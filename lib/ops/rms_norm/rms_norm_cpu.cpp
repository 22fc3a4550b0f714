#include "ops/rms_norm/rms_norm.h"
#include "ops/row_norm.h"

namespace mpt {

namespace {

using row_norm::Centre;

void run_rms_norm(const Signature& s, const KernelArgs& a) {
    const std::int64_t width = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / width;
    const double epsilon = s.attributes.as<RmsNormAttributes>().epsilon;
    const float* gain = simd::input<float>(a, 1);
    float* rstd = simd::output<float>(a, 1);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        T* y = simd::output<T>(a, 0);
        cpu::parallel_for(rows, row_norm::grain_of(width), s.num_threads, [&](cpu::Range range, int) {
            for (std::int64_t r = range.begin; r < range.end; ++r) {
                const auto of_row = row_norm::statistics_of<Centre::kZero>(x + r * width, width, epsilon);
                rstd[r] = of_row.rstd;
                row_norm::apply(x + r * width, of_row, gain, nullptr, y + r * width, width);
            }
        });
    });
}

void run_backward(const Signature& s, const KernelArgs& a) {
    const std::int64_t width = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / width;
    const float* rstd = simd::input<float>(a, 3);
    const row_norm::ColumnSums sums(a.workspace, width, s.num_threads);
    const auto statistics = [=](std::int64_t r) { return row_norm::Statistics{0, rstd[r]}; };
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        row_norm::backward<Centre::kZero>(
            row_norm::BackwardData<T>{simd::input<T>(a, 0), simd::input<T>(a, 1), nullptr,
                                      simd::output<T>(a, 0)},
            simd::input<float>(a, 2), statistics, rows, sums);
    });
    sums.total(simd::output<float>(a, 1), nullptr);
}

PreparedKernel prepare_backward(const Signature& s) {
    return {[s](const KernelArgs& a) { run_backward(s, a); },
            row_norm::ColumnSums::bytes(s.in(0).shape[-1], s.num_threads), "avx2"};
}

}  // namespace

void register_rms_norm_cpu(KernelTable& table) {
    table.add(simd::kernel<run_rms_norm>(rms_norm_op));
    table.add({rms_norm_backward_op.name, "simd", simd::refusal_unless_same<1>, prepare_backward});
}

}  // namespace mpt
