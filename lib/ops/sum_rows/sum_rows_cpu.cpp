#include <algorithm>

#include "ops/simd_kernel.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

namespace {

constexpr std::int64_t kColumns = 128;  // summed together, so that memory is read in whole lines
constexpr std::int64_t kRows = 64;      // summed in f32 before they go to f64

// At most kColumns columns from `x` on, of a matrix `width` wide.
template <typename T>
void sum_columns(const T* x, std::int64_t rows, std::int64_t width, std::int64_t columns, float* y) {
    double sums[kColumns] = {};
    alignas(32) float part[kColumns];
    for (std::int64_t first = 0; first < rows; first += kRows) {
        std::fill_n(part, kColumns, 0.0f);
        for (std::int64_t r = first; r < std::min(rows, first + kRows); ++r)
            simd::for_lanes(0, columns, [&](std::int64_t c, auto lanes) {
                const __m256 sum =
                    _mm256_add_ps(_mm256_load_ps(part + c), simd::load(x + r * width + c, lanes));
                _mm256_store_ps(part + c, sum);
            });
        for (std::int64_t c = 0; c < kColumns; c += simd::kLanes)
            simd::add_to(sums + c, _mm256_load_ps(part + c), simd::Full{});
    }
    for (std::int64_t c = 0; c < columns; ++c) y[c] = static_cast<float>(sums[c]);
}

void run_sum_rows(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        cpu::parallel_for(s.in(0).shape[1], kColumns, s.num_threads, [&](cpu::Range columns, int) {
            const std::int64_t rows = s.in(0).shape[0], width = s.in(0).shape[1];
            for (std::int64_t c = columns.begin; c < columns.end; c += kColumns)
                sum_columns(simd::input<T>(a, 0) + c, rows, width, std::min(kColumns, columns.end - c),
                            simd::output<float>(a, 0) + c);
        });
    });
}

}  // namespace

void register_sum_rows_cpu(KernelTable& table) {
    table.add(simd::kernel<run_sum_rows>(sum_rows_op));
}

}  // namespace mpt
