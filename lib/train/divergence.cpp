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
        "training diverged at update {}: {}; loss scale {}, {} skipped in a row, last finite loss {}; try a "
        "lower optimizer.lr, a warm-up or optimizer.clip_norm",
        control.attempted, reason, control.used_loss_scale, control.consecutive_nonfinite,
        losses.last_finite ? fmt::format("{:.6g}", *losses.last_finite) : "none");
}

}  // namespace mpt
