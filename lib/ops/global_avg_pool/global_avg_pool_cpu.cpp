#include "ops/global_avg_pool/global_avg_pool.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_global_avg_pool(const Signature& s, const KernelArgs& a) {
    const Shape& shape = s.in(0).shape;
    const std::int64_t pixels = shape[1] * shape[2], channels = shape[3];
    const __m256 share = _mm256_set1_ps(1.0f / static_cast<float>(pixels));
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        cpu::parallel_for(shape[0], 1, s.num_threads, [&](cpu::Range images, int) {
            for (std::int64_t n = images.begin; n < images.end; ++n) {
                const T* x = simd::input<T>(a, 0) + n * pixels * channels;
                T* y = simd::output<T>(a, 0) + n * channels;
                simd::for_lanes(0, channels, [&](std::int64_t c, auto lanes) {
                    __m256 sum = _mm256_setzero_ps();
                    for (std::int64_t p = 0; p < pixels; ++p)
                        sum = _mm256_add_ps(sum, simd::load(x + p * channels + c, lanes));
                    simd::store(y + c, _mm256_mul_ps(sum, share), lanes);
                });
            }
        });
    });
}

void run_global_avg_pool_backward(const Signature& s, const KernelArgs& a) {
    const Shape& shape = s.out(0).shape;
    const std::int64_t pixels = shape[1] * shape[2], channels = shape[3];
    const __m256 share = _mm256_set1_ps(1.0f / static_cast<float>(pixels));
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        cpu::parallel_for(shape[0], 1, s.num_threads, [&](cpu::Range images, int) {
            for (std::int64_t n = images.begin; n < images.end; ++n) {
                const T* grad_y = simd::input<T>(a, 0) + n * channels;
                T* grad_x = simd::output<T>(a, 0) + n * pixels * channels;
                simd::for_lanes(0, channels, [&](std::int64_t c, auto lanes) {
                    const __m256 grad = _mm256_mul_ps(simd::load(grad_y + c, lanes), share);
                    for (std::int64_t p = 0; p < pixels; ++p)
                        simd::store(grad_x + p * channels + c, grad, lanes);
                });
            }
        });
    });
}

}  // namespace

void register_global_avg_pool_cpu(KernelTable& table) {
    table.add(simd::kernel<run_global_avg_pool>(global_avg_pool_op));
    table.add(simd::kernel<run_global_avg_pool_backward>(global_avg_pool_backward_op));
}

}  // namespace mpt
