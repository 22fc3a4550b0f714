#include "ops/multiply/multiply.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_multiply(const Signature& s, const KernelArgs& args) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* a = simd::input<T>(args, 0);
        const T* b = simd::input<T>(args, 1);
        T* y = simd::output<T>(args, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            simd::store(y + i, _mm256_mul_ps(simd::load(a + i, lanes), simd::load(b + i, lanes)), lanes);
        });
    });
}

}  // namespace

void register_multiply_cpu(KernelTable& table) {
    table.add(simd::kernel<run_multiply>(multiply_op, simd::refusal_unless_same<1>));
}

}  // namespace mpt
