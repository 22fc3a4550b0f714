#include <cstring>

#include "ops/loss_seed/loss_seed.h"
#include "ops/reference.h"
#include "optim/step_control.h"

namespace mpt {

namespace {

void run_loss_seed(const Signature& s, const KernelArgs& a) {
    StepControl control;
    std::memcpy(&control, a.inputs[1], sizeof control);
    reference::output(s, a, 0).set(0, reference::input(s, a, 0)(0) * static_cast<double>(control.loss_scale));
}

}  // namespace

void register_loss_seed_ref(KernelTable& table) {
    table.add(reference::kernel<run_loss_seed>(loss_seed_op));
}

}  // namespace mpt
