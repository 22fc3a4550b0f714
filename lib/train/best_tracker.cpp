#include "train/best_tracker.h"

#include <cmath>

namespace mpt {

bool BestTracker::offer(double candidate, std::int64_t at_step, Better better) {
    const bool improved = std::isfinite(candidate) &&
                          (!value || (better == Better::kHigher ? candidate > *value : candidate < *value));
    if (!improved) {
        ++rounds_since;
        return false;
    }
    value = candidate;
    step = at_step;
    rounds_since = 0;
    return true;
}

}  // namespace mpt
