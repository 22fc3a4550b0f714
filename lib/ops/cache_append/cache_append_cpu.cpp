#include "ops/cache_append/cache_append.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_cache_append(const Signature& s, const KernelArgs& a) {
    const Shape& shape = s.in(1).shape;
    const std::int64_t capacity = s.in(0).shape[1], count = shape[1];
    const std::int64_t width = shape.num_elements() / (shape[0] * count);
    simd::with_storage(s.in(0).dtype, [&]<typename C>(C) {
        simd::with_storage(s.in(1).dtype, [&]<typename T>(T) {
            for (std::int64_t b = 0; b < shape[0]; ++b) {
                const std::int64_t first = simd::input<std::int32_t>(a, 2)[b];
                check_cache_rows(first, count, capacity);
                const T* from = simd::input<T>(a, 1) + b * count * width;
                C* to = simd::output<C>(a, 0) + (b * capacity + first) * width;
                simd::for_elements(count * width, s.num_threads, [=](std::int64_t i, auto lanes) {
                    simd::store(to + i, simd::load(from + i, lanes), lanes);
                });
            }
        });
    });
}

}  // namespace

void register_cache_append_cpu(KernelTable& table) {
    table.add(simd::kernel<run_cache_append>(cache_append_op));
}

}  // namespace mpt
