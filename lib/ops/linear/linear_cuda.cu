#include "backends/cuda/column_sums.h"
#include "backends/cuda/own_product.h"
#include "ops/cuda_kernel.h"
#include "ops/linear/linear.h"

namespace mpt {

namespace {

// The accumulating gradient has its buffer first.
int first_factor(const Signature& s) {
    return s.op == &linear_backward_weight_accumulate_op || s.op == &linear_backward_weight_bias_accumulate_op
               ? 1
               : 0;
}

gpu::ProductSpec product_of(const Signature& s) {
    gpu::ProductSpec p;
    p.m = s.out(0).shape[0];
    p.n = s.out(0).shape[1];
    p.input = s.in(0).dtype;
    p.output = s.out(0).dtype;
    const gpu::Device* device = gpu::current_device();  // null when the own kernel runs, which rounds nothing
    p.tf32 = device != nullptr && device->settings().tf32;
    if (s.op == &linear_op) {
        p.k = s.in(0).shape[1];
        p.transposed_b = true;
        p.bias = s.has(2);
    } else if (s.op == &linear_backward_data_op) {
        p.k = s.in(0).shape[1];
        p.gelu_gradient = s.attributes.as<LinearAttributes>().of_input == Pointwise::kGeluTanh;
    } else {
        p.input = s.in(first_factor(s)).dtype;
        p.k = s.in(first_factor(s)).shape[0];
        p.transposed_a = true;
        p.accumulate = first_factor(s) == 1;
        p.bias_gradient = s.op == &linear_backward_weight_bias_accumulate_op;
    }
    return p;
}

gpu::ProductArgs arguments(const gpu::Call& s, const gpu::ProductSpec& p, const KernelArgs& a) {
    const auto first = static_cast<std::size_t>(first_factor(s));
    gpu::ProductArgs args{a.inputs[first], a.inputs[first + 1], a.outputs[0],
                          p.bias ? a.in<float>(2) : nullptr, a.workspace};
    if (p.gelu_gradient) args.x = a.inputs[2];
    if (p.bias_gradient) args.bias_gradient = a.out<float>(1);
    return args;
}

std::string refusal_of_types(const Signature& s) {
    const int first = first_factor(s);
    if (s.in(first).dtype != s.in(first + 1).dtype) return "needs one type of data";
    return gpu::refusal(s);
}

std::string refusal(const Signature& s) {
    if (s.attributes.as<LinearAttributes>().of_input != Pointwise::kIdentity)
        return "takes no activation into the product";
    return refusal_of_types(s);
}

std::string library_refusal(const Signature& s) {
    // The one activation that goes into a product here: gelu's gradient, which cuBLASLt knows.
    const bool gelu_gradient = s.op == &linear_backward_data_op &&
                               s.attributes.as<LinearAttributes>().of_input == Pointwise::kGeluTanh &&
                               s.has(2) && s.in(2).dtype == s.out(0).dtype;
    const std::string why = gelu_gradient ? refusal_of_types(s) : refusal(s);
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

// The product, and the sums of its own.
void run_own_bias(const gpu::Call& s, const KernelArgs& a) {
    run_own(s, a);
    const Shape& grad_y = s.in(1).shape;
    gpu::with_storage(s.in(1).dtype, [&]<typename T>(T) {
        gpu::column_sums(*s.device, grad_y[0], grad_y[1], gpu::PlainSum{},
                         gpu::StoreSums<1>{{a.out<float>(1)}}, a.workspace, static_cast<float*>(nullptr),
                         a.in<T>(1));
    });
}

std::size_t sums_bytes(const gpu::Call& s) {
    return gpu::column_sums_bytes(*s.device, s.in(1).shape[0], s.in(1).shape[1], 1);
}

}  // namespace

MPT_REGISTER_CUDA(linear)(KernelTable& table) {
    for (const OpType* op : {&linear_op, &linear_backward_data_op, &linear_backward_weight_op,
                             &linear_backward_weight_accumulate_op}) {
        table.add({op->name, "cublaslt", library_refusal, prepare_library});
        table.add(gpu::kernel<run_own>(*op, refusal));
    }
    const OpType& with_bias = linear_backward_weight_bias_accumulate_op;
    table.add({with_bias.name, "cublaslt", library_refusal, prepare_library});
    Kernel own = gpu::kernel<run_own_bias, sums_bytes>(with_bias, refusal);
    own.name = "own";  // no reason to fuse
    table.add(own);
}

}  // namespace mpt
