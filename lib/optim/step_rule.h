// What step_decision does with the outcome of gradient_check: one pure function.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "optim/loss_scale.h"
#include "optim/schedule.h"
#include "optim/step_control.h"

namespace mpt {

struct StepRule {
    LossScaleSpec loss_scale;
    ScheduleSpec schedule;
    double clip_norm = 0;             // on the unscaled 2-norm of all gradients; 0: off
    std::int64_t max_nonfinite = 40;  // non-finite updates in a row before the run stops; 0: never
    bool operator==(const StepRule&) const = default;
};

inline StepControl initial_control(const StepRule& rule) {
    const LossScaleState state = initial_loss_scale(rule.loss_scale);
    StepControl control;
    control.loss_scale = state.scale;
    control.used_loss_scale = state.scale;
    control.hysteresis_left = state.hysteresis_left;
    return control;
}

namespace step_rule {

// As torch.nn.utils.clip_grad_norm_.
MPT_HOST_DEVICE inline double clip_factor(double clip_norm, double gradient_norm) {
    const double factor = clip_norm / (gradient_norm + 1e-6);
    return clip_norm > 0 && factor < 1 ? factor : 1;
}

// Whether a non-finite update at this scale may still be the scale's fault.
MPT_HOST_DEVICE inline bool scale_to_blame(const LossScaleSpec& spec, float used_scale) {
    return spec.dynamic && used_scale > 1 && used_scale > loss_scale::lowest(spec);
}

}  // namespace step_rule

// Expects found_nonfinite and gradient_norm of this update; sets all other fields. After a stop nothing
// moves.
MPT_HOST_DEVICE inline StepControl decide_step(const StepRule& rule, StepControl control) {
    if (control.stop != StopReason::kRunning) {
        control.skip = 1;
        return control;
    }
    const bool finite = control.found_nonfinite == 0;
    const LossScaleState now = {control.loss_scale, control.growth_counter, control.hysteresis_left,
                                control.skips_at_floor, false};
    const LossScaleState next = next_loss_scale(rule.loss_scale, now, finite);

    control.used_loss_scale = now.scale;
    control.learning_rate = learning_rate(rule.schedule, control.applied);
    const double clip = finite ? step_rule::clip_factor(rule.clip_norm, control.gradient_norm) : 1;
    control.clip_factor = static_cast<float>(clip);
    control.gradient_factor = static_cast<float>(clip / static_cast<double>(now.scale));

    control.skip = finite ? 0 : 1;
    ++control.attempted;
    ++(finite ? control.applied : control.skipped);
    control.consecutive_nonfinite = finite ? 0 : control.consecutive_nonfinite + 1;

    control.loss_scale = next.scale;
    control.growth_counter = next.growth_counter;
    control.hysteresis_left = next.hysteresis_left;
    control.skips_at_floor = next.skips_at_floor;
    if (next.stop)
        control.stop = StopReason::kAtFloor;
    else if (rule.max_nonfinite > 0 && control.consecutive_nonfinite >= rule.max_nonfinite &&
             !step_rule::scale_to_blame(rule.loss_scale, now.scale))
        control.stop = StopReason::kNonFinite;
    return control;
}

}  // namespace mpt
