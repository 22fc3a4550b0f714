#include <algorithm>

#include "ops/add_rows/add_rows.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// One element of x [B,T,C] in `part` [T,C].
void run_add_rows(const Signature& s, const KernelArgs& a) {
    const std::int64_t batch = s.in(0).shape[0], part = s.in(0).shape.num_elements() / batch;
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        const T* table = simd::input<T>(a, 1);
        T* y = simd::output<T>(a, 0);
        cpu::parallel_for(part, simd::kGrain, s.num_threads, [=](cpu::Range range, int) {
            for (std::int64_t b = 0; b < batch; ++b)
                simd::for_lanes(range.begin, range.end, [=](std::int64_t i, auto lanes) {
                    const std::int64_t at = b * part + i;
                    simd::store(y + at,
                                _mm256_add_ps(simd::load(x + at, lanes), simd::load(table + i, lanes)),
                                lanes);
                });
        });
    });
}

constexpr std::int64_t kTerms = 64;  // summed in f32 before they go to f64

template <typename T, typename Lanes>
void sum_over_batch(const T* grad_y, std::int64_t batch, std::int64_t part, float* to, Lanes lanes) {
    double sums[simd::kLanes] = {};
    for (std::int64_t first = 0; first < batch; first += kTerms) {
        __m256 sum = _mm256_setzero_ps();
        for (std::int64_t b = first; b < std::min(batch, first + kTerms); ++b)
            sum = _mm256_add_ps(sum, simd::load(grad_y + b * part, lanes));
        simd::add_to(sums, sum, lanes);
    }
    simd::store(
        to,
        _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(sums + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(sums))),
        lanes);
}

void run_backward(const Signature& s, const KernelArgs& a) {
    const std::int64_t batch = s.in(0).shape[0], part = s.in(0).shape.num_elements() / batch;
    float* grad_table = simd::output<float>(a, 0);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, 0);
        simd::for_elements(part, s.num_threads, [=](std::int64_t i, auto lanes) {
            sum_over_batch(grad_y + i, batch, part, grad_table + i, lanes);
        });
    });
    std::fill(grad_table + part, grad_table + s.out(0).shape.num_elements(), 0.0f);
}

}  // namespace

void register_add_rows_cpu(KernelTable& table) {
    table.add(simd::kernel<run_add_rows>(add_rows_op, simd::refusal_unless_same<1>));
    table.add(simd::kernel<run_backward>(add_rows_backward_op));
}

}  // namespace mpt
