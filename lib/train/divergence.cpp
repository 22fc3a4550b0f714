#include "train/divergence.h"

#include <fmt/core.h>

namespace mpt {

std::string divergence(const StepControl& control, const LossHistory& losses, std::int64_t max_nonfinite) {
    std::string reason;
    if (control.stop == StopReason::kAtFloor)
        reason = fmt::format("{} non-finite updates in a row with the loss scale at its floor",
                             control.skips_at_floor);
    else if (control.stop == StopReason::kNonFinite)
        reason = fmt::format("{} updates in a row had non-finite gradients", control.consecutive_nonfinite);
    else if (losses.nonfinite >= max_nonfinite)
        reason = fmt::format("{} losses in a row were not finite", losses.nonfinite);
    else
        return {};
    return fmt::format(
        "training diverged at update {}: {}; loss scale {}, {} skipped in a row, last finite loss {}",
        control.attempted, reason, control.used_loss_scale, control.consecutive_nonfinite,
        losses.last_finite ? fmt::format("{:.6g}", *losses.last_finite) : "none");
}

namespace {

// Losses of a run that learns wander, but do not double.
bool has_risen(const LossHistory& losses) {
    return losses.last_finite && losses.lowest && *losses.last_finite > 2 * *losses.lowest;
}

}  // namespace

DivergenceCause divergence_cause(const LossHistory& losses, const NonFinitePlace& first) {
    if (first.stored || has_risen(losses)) return DivergenceCause::kTraining;
    if (first.backward && losses.nonfinite == 0)
        return first.f16 ? DivergenceCause::kLeastScale : DivergenceCause::kTraining;
    // What f32 and bf16 cannot hold has grown without bound, unless it was so from the first update on.
    return first.f16 || !losses.last_finite ? DivergenceCause::kForward : DivergenceCause::kTraining;
}

std::string print(DivergenceCause cause, const StepControl& control, const LossHistory& losses,
                  const NonFinitePlace& first) {
    const std::string place = first.text.empty() ? std::string() : ", first " + first.text;
    switch (cause) {
        case DivergenceCause::kForward:
            return "cause: the forward half makes values that are not finite, which no loss scale changes" +
                   place + "; keep that layer in f32 (precision.overrides) or use amp_bf16";
        case DivergenceCause::kLeastScale:
            return fmt::format(
                "cause: gradients overflow f16 even at loss scale {}, the least there may be{}; keep that "
                "layer in f32 (precision.overrides), lower precision.loss_scale.floor or use amp_bf16",
                control.used_loss_scale, place);
        case DivergenceCause::kTraining:
            break;
    }
    const std::string rise = has_risen(losses) ? fmt::format(", its loss rose from {:.6g} to {:.6g}",
                                                             *losses.lowest, *losses.last_finite)
                                               : std::string();
    return "cause: training itself diverged, as it would in f32" + rise + place +
           "; try a lower optimizer.lr, a warm-up or optimizer.clip_norm";
}

}  // namespace mpt
