// Which evaluation is the best so far, and how long ago that was.
#pragma once

#include <cstdint>
#include <optional>

namespace mpt {

enum class Better { kHigher, kLower };

struct BestTracker {
    std::optional<double> value;
    std::int64_t step = 0;          // of the best
    std::int64_t rounds_since = 0;  // evaluations without improvement
    std::optional<double> loss;     // of the best's evaluation, where known
    // Whether this is the new best. A value that is not finite never is, and counts as no improvement. Of
    // equal values the one with the lower loss is the better: BLEU is 0, and accuracy 100 %, for many
    // evaluations.
    bool offer(double candidate, std::int64_t at_step, Better better,
               std::optional<double> its_loss = std::nullopt);
    bool operator==(const BestTracker&) const = default;
};

}  // namespace mpt
