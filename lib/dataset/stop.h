// How work over a whole data set is left early: it asks now and then, and throws Stopped when it shall end.
#pragma once

#include <functional>
#include <stdexcept>

namespace mpt {

using AskStop = std::function<bool()>;  // empty: never

struct Stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void leave_if(const AskStop& stop, const char* what = "stopped") {
    if (stop && stop()) throw Stopped(what);
}

}  // namespace mpt
