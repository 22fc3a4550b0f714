#include <cstring>

#include "ops/ema_update/ema_update.h"
#include "ops/reference.h"
#include "optim/step_control.h"

namespace mpt {

namespace {

void run(const Signature& s, const KernelArgs& a) {
    const auto ema = reference::input(s, a, 0), master = reference::input(s, a, 1);
    const auto next = reference::output(s, a, 0);
    StepControl control;
    std::memcpy(&control, a.in<void>(2), sizeof control);
    const double d =
        control.skip != 0 ? 1 : ema_decay(s.attributes.as<EmaUpdateAttributes>().decay, control.applied);
    for (std::int64_t i = 0; i < ema.size(); ++i) next.set(i, d * ema(i) + (1 - d) * master(i));
}

}  // namespace

void register_ema_update_ref(KernelTable& table) {
    table.add(reference::kernel<run>(ema_update_op));
}

}  // namespace mpt
