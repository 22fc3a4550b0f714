#include "ops/accumulate/accumulate.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_accumulate(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(1).dtype, [&]<typename T>(T) {
        const float* buffer = simd::input<float>(a, 0);
        const T* grad = simd::input<T>(a, 1);
        float* sum = simd::output<float>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            simd::store(sum + i, _mm256_add_ps(simd::load(buffer + i, lanes), simd::load(grad + i, lanes)),
                        lanes);
        });
    });
}

}  // namespace

void register_accumulate_cpu(KernelTable& table) {
    table.add(simd::kernel<run_accumulate>(accumulate_op));
}

}  // namespace mpt
