#include "ops/silu/silu.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// The sigmoid p and its slope p (1 - p), of |x| so that both p and 1 - p keep their digits.
struct Sigmoid {
    __m256 p, slope;

    explicit Sigmoid(__m256 x) {
        const __m256 one = _mm256_set1_ps(1), e = simd::exp(_mm256_or_ps(x, _mm256_set1_ps(-0.0f)));
        const __m256 greater = _mm256_div_ps(one, _mm256_add_ps(one, e)), lesser = _mm256_mul_ps(e, greater);
        p = _mm256_blendv_ps(greater, lesser, x);
        slope = _mm256_mul_ps(greater, lesser);
    }
};

void run_silu(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        T* y = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            const __m256 value = simd::load(x + i, lanes);
            simd::store(y + i, _mm256_mul_ps(value, Sigmoid(value).p), lanes);
        });
    });
}

// dy/dx = p + x p (1 - p), p the sigmoid.
void run_silu_backward(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, 0);
        const T* x = simd::input<T>(a, 1);
        T* grad_x = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            const __m256 value = simd::load(x + i, lanes);
            const Sigmoid sigmoid(value);
            const __m256 slope = _mm256_fmadd_ps(value, sigmoid.slope, sigmoid.p);
            simd::store(grad_x + i, _mm256_mul_ps(simd::load(grad_y + i, lanes), slope), lanes);
        });
    });
}

}  // namespace

void register_silu_cpu(KernelTable& table) {
    table.add(simd::kernel<run_silu>(silu_op));
    table.add(simd::kernel<run_silu_backward>(silu_backward_op, simd::refusal_unless_same<1>));
}

}  // namespace mpt
