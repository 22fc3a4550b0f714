#include "ops/cuda_kernel.h"
#include "ops/relu/relu.h"

namespace mpt {

namespace {

struct Relu {
    MPT_DEVICE float operator()(std::int64_t, float x) const { return x < 0 ? 0.0f : x; }
};
struct ReluBackward {
    MPT_DEVICE float operator()(std::int64_t, float grad_y, float y) const { return y > 0 ? grad_y : 0.0f; }
};

void run_relu(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), Relu{}, a.out<T>(0), a.in<T>(0));
    });
}

void run_relu_backward(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), ReluBackward{}, a.out<T>(0), a.in<T>(0), a.in<T>(1));
    });
}

}  // namespace

MPT_REGISTER_CUDA(relu)(KernelTable& table) {
    table.add(gpu::kernel<run_relu>(relu_op));
    table.add(gpu::kernel<run_relu_backward>(relu_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt
