// Batch norms that the device runs by cuDNN.
#include "backends/cuda/device/cudnn_beside.h"
#include "backends/cuda/device/cudnn_norm.h"
#include "backends/cuda/spec_text.h"

namespace mpt::gpu {

namespace {

Bindings bound(const NormIds& ids, const NormArgs& a) {
    const auto plain = [](const void* data) { return const_cast<void*>(data); };
    return {{ids.x, plain(a.x)},
            {ids.grad_y, plain(a.grad_y)},
            {ids.addend, plain(a.addend)},
            {ids.gamma, plain(a.gamma)},
            {ids.beta, plain(a.beta)},
            {ids.result, a.result},
            {ids.mean, a.mean},
            {ids.rstd, a.rstd},
            {ids.grad_gamma, a.grad_gamma},
            {ids.grad_beta, a.grad_beta}};
}

NormArgs scratch_arguments(const NormSpec& s, ScratchTensors& tensors) {
    const std::int64_t elements = s.n * s.h * s.w * s.c;
    NormArgs args;
    args.x = tensors.add_values(elements, s.dtype);
    args.result = tensors.add_values(elements, s.dtype);
    if (s.backward) args.grad_y = tensors.add_values(elements, s.dtype);
    if (s.add) args.addend = tensors.add_values(elements, s.dtype);
    args.gamma = tensors.add_vector(s.c), args.beta = tensors.add_vector(s.c);
    args.mean = tensors.add_vector(s.c, {DType::f32, 0.0f});
    args.rstd = tensors.add_vector(s.c, {DType::f32, 1.0f});
    for (float** vector : {&args.grad_gamma, &args.grad_beta, &args.scale, &args.shift})
        *vector = tensors.add_vector(s.c);
    return args;
}

}  // namespace

Planned<NormArgs> plan_norm(CudnnRunner& runner, CudaDevice& device, const NormSpec& s,
                            const OwnKernel<NormArgs>& own) {
    Planned<NormArgs> planned;
    planned.refusal = refusal_of(s);
    if (!planned.refusal.empty()) return planned;
    CallBeside<NormArgs> call;
    call.what = text_of(s);
    call.graph = std::make_shared<CudnnGraph>();
    call.own = own;
    NormIds ids;
    try {
        ids = add_norm(*call.graph, s);
    } catch (const CallFailed& error) {
        planned.refusal = error.what();
        return planned;
    }
    call.bind = [ids](const NormArgs& a) { return bound(ids, a); };
    call.scratch = [s](ScratchTensors& tensors) { return scratch_arguments(s, tensors); };
    return plan_beside(runner, device, call);
}

}  // namespace mpt::gpu
