// What `mpt-train data` does for text.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace mpt::app {

struct TextDataWords {
    bool check = false, bench = false;
    int show = 0;
    double seconds = 20;
};

// Prints what was read and left out, then what the words ask for. Throws Error(kData) when there are faults.
void look_at_text(const RunConfig& config, const TextDataWords& words);

}  // namespace mpt::app
