#include "ops/relu/relu.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_relu(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        T* y = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            // The second operand is the result when one is NaN.
            simd::store(y + i, _mm256_max_ps(_mm256_setzero_ps(), simd::load(x + i, lanes)), lanes);
        });
    });
}

void run_relu_backward(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, 0);
        const T* y = simd::input<T>(a, 1);
        T* grad_x = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            const __m256 passes = _mm256_cmp_ps(simd::load(y + i, lanes), _mm256_setzero_ps(), _CMP_GT_OQ);
            simd::store(grad_x + i, _mm256_and_ps(passes, simd::load(grad_y + i, lanes)), lanes);
        });
    });
}

}  // namespace

void register_relu_cpu(KernelTable& table) {
    table.add(simd::kernel<run_relu>(relu_op));
    table.add(simd::kernel<run_relu_backward>(relu_backward_op, simd::refusal_unless_same<1>));
}

}  // namespace mpt
