#include "ops/linear_fp8/linear_fp8.h"
#include "ops/product_cuda.h"

namespace mpt {

namespace {

// The accumulating product has its buffer first.
int first_factor(const Signature& s) {
    return s.op == &linear_fp8_accumulate_op ? 1 : 0;
}

gpu::ProductSpec product_of(const Signature& s) {
    const int first = first_factor(s);
    gpu::ProductSpec p = gpu::product_into_first_output(s);
    p.k = s.in(first).shape[1];
    p.transposed_b = true;
    p.fp8 = s.in(first).dtype == DType::e5m2 ? gpu::Fp8::kE5m2 : gpu::Fp8::kE4m3;
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

}  // namespace

MPT_REGISTER_CUDA(linear_fp8)(KernelTable& table) {
    for (const OpType* op : {&linear_fp8_op, &linear_fp8_accumulate_op}) {
        table.add(gpu::library_product<product_of, arguments>(*op));
        table.add(gpu::kernel<gpu::run_own_product<product_of, arguments>>(*op));
    }
}

}  // namespace mpt
