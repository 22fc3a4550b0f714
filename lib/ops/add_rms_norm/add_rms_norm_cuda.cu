#include "ops/add_rms_norm/add_rms_norm.h"
#include "ops/cuda_kernel.h"
#include "ops/row_norm_cuda.h"

namespace mpt {

namespace {

void run_add_rms_norm(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::NormForward<T> n{};
        n.x = a.in<T>(0);
        n.added = a.in<T>(1);
        n.gain = a.in<float>(2);
        n.sum = a.out<T>(0);
        n.y = a.out<T>(1);
        n.rstd = a.out<float>(2);
        n.epsilon = s.attributes.as<RmsNormAttributes>().epsilon;
        n.width = s.in(0).shape[-1];
        n.rows = gpu::elements_of(s) / n.width;
        gpu::norm_forward<gpu::Centre::kZero>(*s.device, n);
    });
}

}  // namespace

MPT_REGISTER_CUDA(add_rms_norm)(KernelTable& table) {
    table.add(gpu::kernel<run_add_rms_norm>(add_rms_norm_op, gpu::refusal_unless_same<0, 1>));
    table.add(gpu::kernel<gpu::run_norm_backward<gpu::Centre::kZero, 4>, gpu::norm_sums_bytes<gpu::Centre::kZero>>(
        rms_norm_backward_add_op, gpu::refusal_unless_same<0, 1, 4>));
}

}  // namespace mpt
