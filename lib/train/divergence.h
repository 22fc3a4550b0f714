// When a run has become numerically hopeless, and what to say about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "optim/step_control.h"

namespace mpt {

struct LossHistory {
    std::int64_t nonfinite = 0;  // losses in a row
    std::optional<double> last_finite;
};

// One line naming update, loss scale, skips in a row and the last finite loss; empty while there is hope.
std::string divergence(const StepControl& control, const LossHistory& losses, std::int64_t max_nonfinite);

}  // namespace mpt
