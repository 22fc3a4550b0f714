// Rules between keys, checked after every value by itself.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "config/faults.h"
#include "config/run_config.h"

namespace mpt {

// The keys that were given and where; later ones have replaced earlier ones.
struct GivenKeys {
    std::map<std::string, Place, std::less<>> places;
    std::set<std::string, std::less<>> refused;  // had a fault of their own: rules with them would mislead
};

// Fills what follows from other keys (lr by optimizer, 1 epoch) and adds faults and warnings.
void check_together(const GivenKeys& given, Faults& faults, RunConfig& config);

}  // namespace mpt
