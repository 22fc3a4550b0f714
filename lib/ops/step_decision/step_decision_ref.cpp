#include <cstring>

#include "ops/reference.h"
#include "ops/step_decision/step_decision.h"

namespace mpt {

namespace {

void run(const Signature& s, const KernelArgs& a) {
    StepControl control;
    std::memcpy(&control, a.in<void>(0), sizeof control);
    control = decide_step(s.attributes.as<StepDecisionAttributes>().rule, control);
    std::memcpy(a.out<void>(0), &control, sizeof control);
}

}  // namespace

// One thread of scalar work: the reference is the kernel.
void register_step_decision_ref(KernelTable& table) {
    table.add(reference::kernel<run>(step_decision_op));
}

}  // namespace mpt
