#include "train/best_tracker.h"

#include <cmath>

namespace mpt {

bool BestTracker::offer(double candidate, std::int64_t at_step, Better better,
                        std::optional<double> its_loss) {
    const auto beats_best = [&] {
        if (!value) return true;
        if (candidate == *value) return its_loss && loss && *its_loss < *loss;
        return better == Better::kHigher ? candidate > *value : candidate < *value;
    };
    if (!std::isfinite(candidate) || !beats_best()) {
        ++rounds_since;
        return false;
    }
    value = candidate;
    step = at_step;
    loss = its_loss;
    rounds_since = 0;
    return true;
}

}  // namespace mpt
