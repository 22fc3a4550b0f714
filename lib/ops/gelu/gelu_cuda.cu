#include "ops/cuda_kernel.h"
#include "ops/gelu/gelu_cuda.h"

namespace mpt {

namespace {

template <GeluForm form>
void gelu_of_form(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), gpu::Gelu<form>{}, a.out<T>(0), a.in<T>(0));
    });
}
template <GeluForm form>
void backward_of_form(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), gpu::GeluBackward<form>{}, a.out<T>(0), a.in<T>(0),
                 a.in<T>(1));
    });
}

void run_gelu(const gpu::Call& s, const KernelArgs& a) {
    const bool exact = s.attributes.as<GeluAttributes>().form == GeluForm::kExact;
    (exact ? gelu_of_form<GeluForm::kExact> : gelu_of_form<GeluForm::kTanh>)(s, a);
}

void run_gelu_backward(const gpu::Call& s, const KernelArgs& a) {
    const bool exact = s.attributes.as<GeluAttributes>().form == GeluForm::kExact;
    (exact ? backward_of_form<GeluForm::kExact> : backward_of_form<GeluForm::kTanh>)(s, a);
}

}  // namespace

MPT_REGISTER_CUDA(gelu)(KernelTable& table) {
    table.add(gpu::kernel<run_gelu>(gelu_op));
    table.add(gpu::kernel<run_gelu_backward>(gelu_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt
