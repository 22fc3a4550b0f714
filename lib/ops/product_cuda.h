// What the ops that are one matrix product share on a GPU: what is asked of it, cuBLASLt's kernel and our
// own.
#pragma once

#include "backends/cuda/own_product.h"
#include "ops/cuda_kernel.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

// d[m,n] = output 0, of the types of input `first` and of output 0; the caller adds k and the rest.
inline ProductSpec product_into_first_output(const Signature& s, int first = 0) {
    ProductSpec p;
    p.m = s.out(0).shape[0];
    p.n = s.out(0).shape[1];
    p.input = s.in(first).dtype;
    p.output = s.out(0).dtype;
    // No device where the own kernel runs on the host, which rounds nothing.
    const Device* device = current_device();
    p.tf32 = p.input == DType::f32 && device != nullptr && device->settings().tf32;
    return p;
}

using SpecOfCall = ProductSpec (*)(const Signature&);
using ArgsOfCall = ProductArgs (*)(const Signature&, const ProductSpec&, const KernelArgs&);

// Why cuBLASLt does not take the product, or nothing.
template <SpecOfCall spec, std::string (*refuses)(const Signature&)>
std::string library_refusal(const Signature& s) {
    const std::string why = refuses(s);
    if (!why.empty()) return why;
    return current_device() == nullptr ? "needs a device" : current_device()->plan_product(spec(s)).refusal;
}

template <SpecOfCall spec, ArgsOfCall arguments>
PreparedKernel prepare_library_product(const Signature& signature) {
    const Call s(signature);
    const ProductSpec p = spec(s);
    const Planned<ProductArgs> plan = s.device->plan_product(p);
    return {[s, p, plan](const KernelArgs& a) { plan.run(arguments(s, p, a)); }, plan.workspace_bytes,
            plan.description};
}

template <SpecOfCall spec, ArgsOfCall arguments, std::string (*refuses)(const Signature&) = refusal>
Kernel library_product(const OpType& op) {
    return {op.name, "cublaslt", library_refusal<spec, refuses>, prepare_library_product<spec, arguments>};
}

template <SpecOfCall spec, ArgsOfCall arguments>
void run_own_product(const Call& s, const KernelArgs& a) {
    const ProductSpec p = spec(s);
    own_product(*s.device, p, arguments(s, p, a));
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
