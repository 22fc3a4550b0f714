// When a run has become numerically hopeless, and what to say about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "optim/step_control.h"
#include "train/training_program.h"

namespace mpt {

struct LossHistory {
    std::int64_t nonfinite = 0;  // losses in a row
    std::optional<double> last_finite;
    std::optional<double> lowest = {};  // of the finite ones
};

// One line naming update, loss scale, skips in a row and the last finite loss; empty while there is hope.
std::string divergence(const StepControl& control, const LossHistory& losses, std::int64_t max_nonfinite);

// Why: the three cases that scaling the loss cannot mend.
enum class DivergenceCause : std::uint8_t {
    kForward,     // the forward half makes values that are not finite out of finite weights
    kLeastScale,  // gradients overflow f16 at the least scale there may be
    kTraining,    // weights or loss grew without bound: f32 would diverge as well
};
DivergenceCause divergence_cause(const LossHistory& losses, const NonFinitePlace& first);
// A sentence with the place, and what to do about it.
std::string print(DivergenceCause cause, const StepControl& control, const LossHistory& losses,
                  const NonFinitePlace& first);

}  // namespace mpt
