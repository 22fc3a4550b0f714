// Time that only runs forward, for durations.
#pragma once

#include <chrono>

namespace mpt {

inline double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace mpt
