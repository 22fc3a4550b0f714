#include "backends/cuda/own_product.h"
#include "ops/cuda_kernel.h"
#include "ops/linear/linear.h"

namespace mpt {

namespace {

gpu::ProductSpec product_of(const Signature& s) {
    gpu::ProductSpec p;
    p.m = s.out(0).shape[0];
    p.n = s.out(0).shape[1];
    p.input = s.in(0).dtype;
    p.output = s.out(0).dtype;
    p.tf32 = s.device != nullptr && s.device->settings().tf32;
    if (s.op == &linear_op) {
        p.k = s.in(0).shape[1];
        p.transposed_b = true;
        p.bias = s.has(2);
    } else if (s.op == &linear_backward_data_op) {
        p.k = s.in(0).shape[1];
    } else {
        p.k = s.in(0).shape[0];
        p.transposed_a = true;
    }
    return p;
}

gpu::ProductArgs arguments(const gpu::ProductSpec& p, const KernelArgs& a) {
    return {a.inputs[0], a.inputs[1], a.outputs[0], p.bias ? a.in<float>(2) : nullptr, a.workspace};
}

std::string refusal(const Signature& s) {
    if (s.in(0).dtype != s.in(1).dtype) return "needs one type of data";
    return gpu::refusal(s);
}

std::string library_refusal(const Signature& s) {
    const std::string why = refusal(s);
    if (!why.empty()) return why;
    return s.device == nullptr ? "needs a device" : s.device->plan_product(product_of(s)).refusal;
}

PreparedKernel prepare_library(const Signature& s) {
    const gpu::ProductSpec p = product_of(s);
    const gpu::Planned<gpu::ProductArgs> plan = s.device->plan_product(p);
    return {[p, plan](const KernelArgs& a) { plan.run(arguments(p, a)); }, plan.workspace_bytes, plan.description};
}

void run_own(const Signature& s, const KernelArgs& a) {
    const gpu::ProductSpec p = product_of(s);
    gpu::own_product(*s.device, p, arguments(p, a));
}

}  // namespace

MPT_REGISTER_CUDA(linear)(KernelTable& table) {
    for (const OpType* op : {&linear_op, &linear_backward_data_op, &linear_backward_weight_op}) {
        table.add({op->name, "cublaslt", library_refusal, prepare_library});
        table.add(gpu::kernel<run_own>(*op, refusal));
    }
}

}  // namespace mpt
