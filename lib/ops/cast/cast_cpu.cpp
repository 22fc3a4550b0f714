#include "ops/cast/cast.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_cast(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename From>(From) {
        simd::with_storage(s.out(0).dtype, [&]<typename To>(To) {
            const From* x = simd::input<From>(a, 0);
            To* y = simd::output<To>(a, 0);
            simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
                simd::store(y + i, simd::load(x + i, lanes), lanes);
            });
        });
    });
}

}  // namespace

void register_cast_cpu(KernelTable& table) {
    table.add(simd::kernel<run_cast>(cast_op));
}

}  // namespace mpt
