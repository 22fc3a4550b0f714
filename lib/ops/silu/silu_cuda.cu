#include "ops/cuda_kernel.h"
#include "ops/silu/silu.h"

namespace mpt {

namespace {

MPT_DEVICE float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}

struct Silu {
    MPT_DEVICE float operator()(std::int64_t, float x) const { return x * sigmoid(x); }
};
struct SiluBackward {
    MPT_DEVICE float operator()(std::int64_t, float grad_y, float x) const {
        return grad_y * sigmoid(x) * (1 + x * sigmoid(-x));
    }
};

void run_silu(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), Silu{}, a.out<T>(0), a.in<T>(0));
    });
}

void run_silu_backward(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), SiluBackward{}, a.out<T>(0), a.in<T>(0), a.in<T>(1));
    });
}

}  // namespace

MPT_REGISTER_CUDA(silu)(KernelTable& table) {
    table.add(gpu::kernel<run_silu>(silu_op));
    table.add(gpu::kernel<run_silu_backward>(silu_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt
