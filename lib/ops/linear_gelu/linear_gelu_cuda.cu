#include "backends/cuda/own_product.h"
#include "ops/cuda_kernel.h"
#include "ops/gelu/gelu_cuda.h"
#include "ops/linear_gelu/linear_gelu.h"

namespace mpt {

namespace {

gpu::ProductSpec product_of(const Signature& s) {
    gpu::ProductSpec p;
    p.m = s.out(0).shape[0];
    p.n = s.out(0).shape[1];
    p.k = s.in(0).shape[1];
    p.transposed_b = true;
    p.input = s.in(0).dtype;
    p.output = s.out(0).dtype;
    p.bias = s.has(2);
    const gpu::Device* device = gpu::current_device();  // null when the own kernel runs, which rounds nothing
    p.tf32 = device != nullptr && device->settings().tf32;
    p.gelu = true;
    return p;
}

gpu::ProductArgs arguments(const gpu::ProductSpec& p, const KernelArgs& a) {
    gpu::ProductArgs args{a.in<void>(0), a.in<void>(1), a.outputs[0], p.bias ? a.in<float>(2) : nullptr,
                          a.workspace};
    args.aux = a.outputs[1];
    return args;
}

std::string library_refusal(const Signature& s) {
    const std::string why = gpu::refusal_unless_same<0, 1>(s);
    if (!why.empty()) return why;
    return gpu::current_device() == nullptr ? "needs a device"
                                            : gpu::current_device()->plan_product(product_of(s)).refusal;
}

PreparedKernel prepare_library(const Signature& signature) {
    const gpu::Call s(signature);
    const gpu::ProductSpec p = product_of(s);
    const gpu::Planned<gpu::ProductArgs> plan = s.device->plan_product(p);
    return {[p, plan](const KernelArgs& a) { plan.run(arguments(p, a)); }, plan.workspace_bytes,
            plan.description};
}

// The product, and gelu behind it.
void run_own(const gpu::Call& s, const KernelArgs& a) {
    gpu::ProductSpec p = product_of(s);
    gpu::ProductArgs args = arguments(p, a);
    p.gelu = false;
    args.d = args.aux;
    gpu::own_product(*s.device, p, args);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), gpu::Gelu<GeluForm::kTanh>{}, a.out<T>(0),
                 static_cast<const T*>(a.out<T>(1)));
    });
}

PreparedKernel prepare_own(const Signature& signature) {
    return gpu::kernel<run_own>(linear_gelu_op).prepare(signature);
}

}  // namespace

MPT_REGISTER_CUDA(linear_gelu)(KernelTable& table) {
    table.add({linear_gelu_op.name, "cublaslt", library_refusal, prepare_library});
    // "own": no reason to fuse.
    table.add({linear_gelu_op.name, "own", gpu::refusal_unless_same<0, 1>, prepare_own});
}

}  // namespace mpt
