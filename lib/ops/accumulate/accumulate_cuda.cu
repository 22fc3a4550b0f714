#include "ops/accumulate/accumulate.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

struct Sum {
    MPT_DEVICE float operator()(std::int64_t, float buffer, float grad) const { return buffer + grad; }
};

void run_accumulate(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(1).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), Sum{}, a.out<float>(0), a.in<float>(0), a.in<T>(1));
    });
}

}  // namespace

MPT_REGISTER_CUDA(accumulate)(KernelTable& table) {
    table.add(gpu::kernel<run_accumulate>(accumulate_op));
}

}  // namespace mpt
