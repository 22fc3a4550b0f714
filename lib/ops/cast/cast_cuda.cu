#include "ops/cast/cast.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

struct Same {
    MPT_DEVICE float operator()(std::int64_t, float x) const { return x; }
};

void run_cast(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename X>(X) {
        gpu::with_storage(s.out(0).dtype, [&]<typename Y>(Y) {
            gpu::map(*s.device, gpu::elements_of(s), Same{}, a.out<Y>(0), a.in<X>(0));
        });
    });
}

}  // namespace

MPT_REGISTER_CUDA(cast)(KernelTable& table) {
    table.add(gpu::kernel<run_cast>(cast_op));
}

}  // namespace mpt
