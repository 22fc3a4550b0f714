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

void run_layer_norm_backward(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::NormBackward<T> n{};
        n.grad_y = a.in<T>(0);
        n.x = a.in<T>(1);
        n.gain = a.in<float>(2);
        n.mean = a.in<float>(3);
        n.rstd = a.in<float>(4);
        n.grad_x = a.out<T>(0);
        n.grad_gain = a.out<float>(1);
        n.grad_bias = a.out<float>(2);
        n.width = s.in(0).shape[-1];
        n.rows = gpu::elements_of(s) / n.width;
        gpu::norm_backward<gpu::Centre::kMean>(*s.device, n, a.workspace);
    });
}

std::size_t sums_bytes(const gpu::Call& s) {
    return gpu::column_sums_bytes(*s.device, s.in(0).shape.num_elements() / s.in(0).shape[-1],
                                  s.in(0).shape[-1], 2);
}

}  // namespace

MPT_REGISTER_CUDA(layer_norm)(KernelTable& table) {
    table.add(gpu::kernel<run_layer_norm>(layer_norm_op));
    table.add(gpu::kernel<run_layer_norm_backward, sums_bytes>(layer_norm_backward_op,
                                                               gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt
