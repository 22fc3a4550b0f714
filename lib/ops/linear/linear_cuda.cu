#include "backends/cuda/column_sums.h"
#include "ops/linear/linear.h"
#include "ops/product_cuda.h"

namespace mpt {

namespace {

// The accumulating gradient has its buffer first.
int first_factor(const Signature& s) {
    return s.op == &linear_backward_weight_accumulate_op || s.op == &linear_backward_weight_bias_accumulate_op
               ? 1
               : 0;
}

gpu::ProductSpec product_of(const Signature& s) {
    gpu::ProductSpec p = gpu::product_into_first_output(s, first_factor(s));
    if (s.op == &linear_op) {
        p.k = s.in(0).shape[1];
        p.transposed_b = true;
        p.bias = s.has(2);
    } else if (s.op == &linear_backward_data_op) {
        p.k = s.in(0).shape[1];
        p.gelu_gradient = s.attributes.as<LinearAttributes>().of_input == Pointwise::kGeluTanh;
    } else {
        p.k = s.in(first_factor(s)).shape[0];
        p.transposed_a = true;
        p.accumulate = first_factor(s) == 1;
        p.bias_gradient = s.op == &linear_backward_weight_bias_accumulate_op;
    }
    return p;
}

gpu::ProductArgs arguments(const Signature& s, const gpu::ProductSpec& p, const KernelArgs& a) {
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

// The one activation that goes into a product here is gelu's gradient, which cuBLASLt knows.
std::string refusal_of_library(const Signature& s) {
    const bool gelu_gradient = s.op == &linear_backward_data_op &&
                               s.attributes.as<LinearAttributes>().of_input == Pointwise::kGeluTanh &&
                               s.has(2) && s.in(2).dtype == s.out(0).dtype;
    return gelu_gradient ? refusal_of_types(s) : refusal(s);
}

// The product, and the sums of its own.
void run_own_bias(const gpu::Call& s, const KernelArgs& a) {
    gpu::run_own_product<product_of, arguments>(s, a);
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
        table.add(gpu::library_product<product_of, arguments, refusal_of_library>(*op));
        table.add(gpu::kernel<gpu::run_own_product<product_of, arguments>>(*op, refusal));
    }
    const OpType& with_bias = linear_backward_weight_bias_accumulate_op;
    table.add(gpu::library_product<product_of, arguments, refusal_of_library>(with_bias));
    Kernel own = gpu::kernel<run_own_bias, sums_bytes>(with_bias, refusal);
    own.name = "own";  // no reason to fuse
    table.add(own);
}

}  // namespace mpt
