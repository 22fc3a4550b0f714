#include "backends/cpu/activations.h"
#include "ops/simd_kernel.h"
#include "ops/swiglu/swiglu.h"

namespace mpt {

namespace {

void run_swiglu(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* gate = simd::input<T>(a, 0);
        const T* up = simd::input<T>(a, 1);
        T* y = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            const __m256 passed = simd::activate<Pointwise::kSilu>(simd::load(gate + i, lanes));
            simd::store(y + i, _mm256_mul_ps(passed, simd::load(up + i, lanes)), lanes);
        });
    });
}

void run_swiglu_backward(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, 0);
        const T* gate = simd::input<T>(a, 1);
        const T* up = simd::input<T>(a, 2);
        T* grad_gate = simd::output<T>(a, 0);
        T* grad_up = simd::output<T>(a, 1);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            const __m256 g = simd::load(grad_y + i, lanes), x = simd::load(gate + i, lanes);
            const __m256 of_silu = _mm256_mul_ps(g, simd::load(up + i, lanes));
            const __m256 passed = _mm256_mul_ps(g, simd::activate<Pointwise::kSilu>(x));
            simd::store(grad_gate + i, simd::through<Pointwise::kSilu>(of_silu, x), lanes);
            simd::store(grad_up + i, passed, lanes);
        });
    });
}

}  // namespace

void register_swiglu_cpu(KernelTable& table) {
    table.add(simd::kernel<run_swiglu>(swiglu_op, simd::refusal_unless_same<1>));
    table.add(simd::kernel<run_swiglu_backward>(swiglu_backward_op, simd::refusal_unless_same<1, 2>));
}

}  // namespace mpt
