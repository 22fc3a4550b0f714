#include "backends/cpu/activations.h"
#include "ops/silu/silu.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_silu(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        T* y = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            simd::store(y + i, simd::activate<Pointwise::kSilu>(simd::load(x + i, lanes)), lanes);
        });
    });
}

void run_silu_backward(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, 0);
        const T* x = simd::input<T>(a, 1);
        T* grad_x = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            const __m256 gradient = simd::load(grad_y + i, lanes);
            simd::store(grad_x + i, simd::through<Pointwise::kSilu>(gradient, simd::load(x + i, lanes)),
                        lanes);
        });
    });
}

}  // namespace

void register_silu_cpu(KernelTable& table) {
    table.add(simd::kernel<run_silu>(silu_op));
    table.add(simd::kernel<run_silu_backward>(silu_backward_op, simd::refusal_unless_same<1>));
}

}  // namespace mpt
