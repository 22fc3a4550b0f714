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
    // Whether this is the new best. A value that is not finite never is, and counts as no improvement.
    bool offer(double candidate, std::int64_t at_step, Better better);
    bool operator==(const BestTracker&) const = default;
};

}  // namespace mpt
