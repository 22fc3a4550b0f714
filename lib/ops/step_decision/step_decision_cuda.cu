#include "ops/cuda_kernel.h"
#include "ops/step_decision/step_decision.h"

namespace mpt {

namespace {

MPT_KERNEL(32)
void step_decision_kernel(StepRule rule, const StepControl* before, StepControl* after) {
    if (gpu::thread_index() == 0) *after = decide_step(rule, *before);
}

void run_step_decision(const gpu::Call& s, const KernelArgs& a) {
    gpu::launch(*s.device, {.threads = 32, .threads_meet = false}, step_decision_kernel,
                s.attributes.as<StepDecisionAttributes>().rule, a.in<StepControl>(0), a.out<StepControl>(0));
}

}  // namespace

MPT_REGISTER_CUDA(step_decision)(KernelTable& table) {
    table.add(gpu::kernel<run_step_decision>(step_decision_op));
}

}  // namespace mpt
