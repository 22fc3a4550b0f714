#include <algorithm>

#include "ops/simd_kernel.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

namespace {

constexpr std::int64_t kColumns = 64;  // a thread's unit
constexpr std::int64_t kRows = 64;     // summed in f32 before they go to f64

template <typename T>
void sum_columns(const T* x, const Shape& shape, cpu::Range columns, float* y) {
    const std::int64_t rows = shape[0], width = shape[1];
    simd::for_lanes(columns.begin, columns.end, [&](std::int64_t c, auto lanes) {
        double sums[simd::kLanes] = {};
        for (std::int64_t first = 0; first < rows; first += kRows) {
            __m256 part = _mm256_setzero_ps();
            for (std::int64_t r = first; r < std::min(rows, first + kRows); ++r)
                part = _mm256_add_ps(part, simd::load(x + r * width + c, lanes));
            simd::add_to(sums, part, lanes);
        }
        for (std::int64_t i = 0; i < std::min<std::int64_t>(simd::kLanes, columns.end - c); ++i)
            y[c + i] = static_cast<float>(sums[i]);
    });
}

void run_sum_rows(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        cpu::parallel_for(s.in(0).shape[1], kColumns, s.num_threads, [&](cpu::Range columns, int) {
            sum_columns(simd::input<T>(a, 0), s.in(0).shape, columns, simd::output<float>(a, 0));
        });
    });
}

}  // namespace

void register_sum_rows_cpu(KernelTable& table) {
    table.add(simd::kernel<run_sum_rows>(sum_rows_op));
}

}  // namespace mpt
