#include "ops/gelu/gelu_cuda.h"
#include "ops/linear_gelu/linear_gelu.h"
#include "ops/product_cuda.h"

namespace mpt {

namespace {

gpu::ProductSpec product_of(const Signature& s) {
    gpu::ProductSpec p = gpu::product_into_first_output(s);
    p.k = s.in(0).shape[1];
    p.transposed_b = true;
    p.bias = s.has(2);
    p.gelu = true;
    return p;
}

gpu::ProductArgs arguments(const Signature&, const gpu::ProductSpec& p, const KernelArgs& a) {
    gpu::ProductArgs args{a.in<void>(0), a.in<void>(1), a.outputs[0], p.bias ? a.in<float>(2) : nullptr,
                          a.workspace};
    args.aux = a.outputs[1];
    return args;
}

// The product, and gelu behind it.
void run_own(const gpu::Call& s, const KernelArgs& a) {
    gpu::ProductSpec p = product_of(s);
    gpu::ProductArgs args = arguments(s, p, a);
    p.gelu = false;
    args.d = args.aux;
    gpu::own_product(*s.device, p, args);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), gpu::Gelu<GeluForm::kTanh>{}, a.out<T>(0),
                 static_cast<const T*>(a.out<T>(1)));
    });
}

}  // namespace

MPT_REGISTER_CUDA(linear_gelu)(KernelTable& table) {
    constexpr auto refuses = gpu::refusal_unless_same<0, 1>;
    table.add(gpu::library_product<product_of, arguments, refuses>(linear_gelu_op));
    Kernel own = gpu::kernel<run_own>(linear_gelu_op, refuses);
    own.name = "own";  // no reason to fuse
    table.add(own);
}

}  // namespace mpt
