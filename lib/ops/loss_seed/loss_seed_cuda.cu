#include "ops/cuda_kernel.h"
#include "ops/loss_seed/loss_seed.h"
#include "optim/step_control.h"

namespace mpt {

namespace {

MPT_KERNEL(32)
void loss_seed_kernel(const float* weight, const StepControl* control, float* seed) {
    if (gpu::thread_index() == 0) *seed = *weight * control->loss_scale;
}

void run_loss_seed(const gpu::Call& s, const KernelArgs& a) {
    gpu::launch(*s.device, {.threads = 32, .threads_meet = false}, loss_seed_kernel, a.in<float>(0),
                a.in<StepControl>(1), a.out<float>(0));
}

}  // namespace

MPT_REGISTER_CUDA(loss_seed)(KernelTable& table) {
    table.add(gpu::kernel<run_loss_seed>(loss_seed_op));
}

}  // namespace mpt
