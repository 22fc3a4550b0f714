#include "ops/cuda_kernel.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/row_norm_cuda.h"

namespace mpt {

namespace {

void run_rms_norm(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::NormForward<T> n{};
        n.x = a.in<T>(0);
        n.gain = a.in<float>(1);
        n.y = a.out<T>(0);
        n.rstd = a.out<float>(1);
        n.epsilon = s.attributes.as<RmsNormAttributes>().epsilon;
        n.width = s.in(0).shape[-1];
        n.rows = gpu::elements_of(s) / n.width;
        gpu::norm_forward<gpu::Centre::kZero>(*s.device, n);
    });
}

}  // namespace

MPT_REGISTER_CUDA(rms_norm)(KernelTable& table) {
    table.add(gpu::kernel<run_rms_norm>(rms_norm_op));
    table.add(gpu::kernel<gpu::run_norm_backward<gpu::Centre::kZero>, gpu::norm_sums_bytes<gpu::Centre::kZero>>(
        rms_norm_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt
