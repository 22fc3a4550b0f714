// Keys that were given and change nothing.
#pragma once

#include "config/rules.h"

namespace mpt {

// A warning for each that is not at its default.
void warn_of_idle_keys(const GivenKeys& given, Faults& faults, const RunConfig& config);

}  // namespace mpt
