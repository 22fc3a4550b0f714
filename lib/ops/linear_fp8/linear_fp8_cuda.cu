#include "backends/cuda/own_product.h"
#include "ops/cuda_kernel.h"
#include "ops/linear_fp8/linear_fp8.h"

namespace mpt {

namespace {

// The accumulating product has its buffer first.
int first_factor(const Signature& s) {
    return s.op == &linear_fp8_accumulate_op ? 1 : 0;
}

gpu::ProductSpec product_of(const Signature& s) {
    const int first = first_factor(s);
    gpu::ProductSpec p;
    p.m = s.out(0).shape[0];
    p.n = s.out(0).shape[1];
    p.k = s.in(first).shape[1];
    p.transposed_b = true;
    p.fp8 = s.in(first).dtype == DType::e5m2 ? gpu::Fp8::kE5m2 : gpu::Fp8::kE4m3;
    p.output = s.out(0).dtype;
    p.bias = first == 0 && s.has(4);
    p.accumulate = first == 1;
    return p;
}

gpu::ProductArgs arguments(const Signature& s, const gpu::ProductSpec& p, const KernelArgs& a) {
    const int first = first_factor(s);
    gpu::ProductArgs args{a.in<void>(first), a.in<void>(first + 1), a.outputs[0],
                          p.bias ? a.in<float>(4) : nullptr, a.workspace};
    args.scale_a = a.in<float>(first + 2);
    args.scale_b = a.in<float>(first + 3);
    return args;
}

std::string library_refusal(const Signature& s) {
    const std::string why = gpu::refusal(s);
    if (!why.empty()) return why;
    return gpu::current_device() == nullptr ? "needs a device"
                                            : gpu::current_device()->plan_product(product_of(s)).refusal;
}

PreparedKernel prepare_library(const Signature& signature) {
    const gpu::Call s(signature);
    const gpu::ProductSpec p = product_of(s);
    const gpu::Planned<gpu::ProductArgs> plan = s.device->plan_product(p);
    return {[s, p, plan](const KernelArgs& a) { plan.run(arguments(s, p, a)); }, plan.workspace_bytes,
            plan.description};
}

void run_own(const gpu::Call& s, const KernelArgs& a) {
    const gpu::ProductSpec p = product_of(s);
    gpu::own_product(*s.device, p, arguments(s, p, a));
}

}  // namespace

MPT_REGISTER_CUDA(linear_fp8)(KernelTable& table) {
    for (const OpType* op : {&linear_fp8_op, &linear_fp8_accumulate_op}) {
        table.add({op->name, "cublaslt", library_refusal, prepare_library});
        table.add(gpu::kernel<run_own>(*op));
    }
}

}  // namespace mpt
