// Pools that the device runs by cuDNN.
#include "backends/cuda/device/cudnn_beside.h"
#include "backends/cuda/device/cudnn_pool.h"
#include "backends/cuda/spec_text.h"

namespace mpt::gpu {

Planned<PoolArgs> plan_pool(CudnnRunner& runner, CudaDevice& device, const PoolSpec& s,
                            const OwnKernel<PoolArgs>& own) {
    Planned<PoolArgs> planned;
    planned.refusal = refusal_of(s);
    if (!planned.refusal.empty()) return planned;
    CallBeside<PoolArgs> call;
    call.what = text_of(s);
    call.graph = std::make_shared<CudnnGraph>();
    call.own = own;
    PoolIds ids;
    try {
        ids = add_pool(*call.graph, s);
    } catch (const CallFailed& error) {
        planned.refusal = error.what();
        return planned;
    }
    call.bind = [ids](const PoolArgs& a) {
        const auto plain = [](const void* data) { return const_cast<void*>(data); };
        return Bindings{{ids.from, plain(a.from)},
                        {ids.to, a.to},
                        {ids.index, a.index},
                        {ids.scale, plain(a.scale)},
                        {ids.shift, plain(a.shift)}};
    };
    call.scratch = [s](ScratchTensors& tensors) {
        const std::int64_t images = s.n * s.h * s.w * s.c, results = s.n * s.p * s.q * s.c;
        PoolArgs args;
        args.from = tensors.add_values(s.backward ? results : images, s.dtype);
        args.to = tensors.add_values(s.backward ? images : results, s.dtype);
        // The middle of each window.
        const ScratchValues middle{DType::u8, static_cast<float>(s.window_h * s.window_w / 2)};
        if (!s.average) args.index = tensors.add(static_cast<std::size_t>(results), middle);
        if (s.affine) args.scale = tensors.add_vector(s.c), args.shift = tensors.add_vector(s.c);
        return args;
    };
    return plan_beside(runner, device, call);
}

}  // namespace mpt::gpu
