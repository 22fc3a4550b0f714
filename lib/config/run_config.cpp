#include "config/run_config.h"

#include <algorithm>
#include <cmath>

namespace mpt {

std::int64_t updates_in(const Duration& duration, std::int64_t updates_per_epoch) {
    if (duration.amount <= 0) return 0;
    const double factor =
        duration.unit == DurationUnit::kEpochs ? static_cast<double>(updates_per_epoch) : 1.0;
    // 2^62 is beyond every run and safe to convert.
    const double updates = std::min(std::round(duration.amount * factor), 0x1p62);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(updates));
}

}  // namespace mpt
