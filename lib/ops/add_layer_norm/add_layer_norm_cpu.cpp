#include "ops/add_layer_norm/add_layer_norm.h"
#include "ops/row_norm.h"

namespace mpt {

namespace {

using row_norm::Centre;

template <typename T>
void add_rows(const T* a, const T* b, T* sum, std::int64_t width) {
    simd::for_lanes(0, width, [=](std::int64_t i, auto lanes) {
        simd::store(sum + i, _mm256_add_ps(simd::load(a + i, lanes), simd::load(b + i, lanes)), lanes);
    });
}

void run_forward(const Signature& s, const KernelArgs& args) {
    const std::int64_t width = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / width;
    const double epsilon = s.attributes.as<LayerNormAttributes>().epsilon;
    const float* gain = simd::input<float>(args, 2);
    const float* bias = s.has(3) ? simd::input<float>(args, 3) : nullptr;
    float* mean = simd::output<float>(args, 2);
    float* rstd = simd::output<float>(args, 3);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* a = simd::input<T>(args, 0);
        const T* b = simd::input<T>(args, 1);
        T* sum = simd::output<T>(args, 0);
        T* y = simd::output<T>(args, 1);
        cpu::parallel_for(rows, row_norm::grain_of(width), s.num_threads, [&](cpu::Range range, int) {
            for (std::int64_t r = range.begin; r < range.end; ++r) {
                const std::int64_t at = r * width;
                add_rows(a + at, b + at, sum + at, width);
                const auto of_row = row_norm::statistics_of<Centre::kMean>(sum + at, width, epsilon);
                mean[r] = of_row.mean;
                rstd[r] = of_row.rstd;
                row_norm::apply(sum + at, of_row, gain, bias, y + at, width);
            }
        });
    });
}

void run_backward(const Signature& s, const KernelArgs& a) {
    const std::int64_t width = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / width;
    const float* mean = simd::input<float>(a, 3);
    const float* rstd = simd::input<float>(a, 4);
    const row_norm::ColumnSums sums(a.workspace, width, s.num_threads);
    const auto statistics = [=](std::int64_t r) { return row_norm::Statistics{mean[r], rstd[r]}; };
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        row_norm::backward<Centre::kMean>(
            row_norm::BackwardData<T>{simd::input<T>(a, 0), simd::input<T>(a, 1), simd::input<T>(a, 5),
                                      simd::output<T>(a, 0)},
            simd::input<float>(a, 2), statistics, rows, sums);
    });
    sums.total(simd::output<float>(a, 1), simd::output<float>(a, 2));
}

PreparedKernel prepare_backward(const Signature& s) {
    return {[s](const KernelArgs& a) { run_backward(s, a); },
            row_norm::ColumnSums::bytes(s.in(0).shape[-1], s.num_threads), "avx2"};
}

}  // namespace

void register_add_layer_norm_cpu(KernelTable& table) {
    table.add(simd::kernel<run_forward>(add_layer_norm_op, simd::refusal_unless_same<1>));
    table.add({layer_norm_backward_add_op.name, "simd", simd::refusal_unless_same<1, 5>, prepare_backward});
}

}  // namespace mpt
