#include "ops/cuda_kernel.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/row_norm_cuda.h"

namespace mpt {

namespace {

void run_layer_norm(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::NormForward<T> n{};
        n.x = a.in<T>(0);
        n.gain = a.in<float>(1);
        n.bias = s.has(2) ? a.in<float>(2) : nullptr;
        n.y = a.out<T>(0);
        n.mean = a.out<float>(1);
        n.rstd = a.out<float>(2);
        n.epsilon = s.attributes.as<LayerNormAttributes>().epsilon;
        n.width = s.in(0).shape[-1];
        n.rows = gpu::elements_of(s) / n.width;
        gpu::norm_forward<gpu::Centre::kMean>(*s.device, n);
    });
}

}  // namespace

MPT_REGISTER_CUDA(layer_norm)(KernelTable& table) {
    table.add(gpu::kernel<run_layer_norm>(layer_norm_op));
    table.add(gpu::kernel<gpu::run_norm_backward<gpu::Centre::kMean>, gpu::norm_sums_bytes<gpu::Centre::kMean>>(
        layer_norm_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt
