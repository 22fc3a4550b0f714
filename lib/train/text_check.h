// What is wrong with the files of a text config, all of it: training stops at the first fault.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace mpt {

// Whether the tokens are random by data.type.
bool is_made_up(const DataConfig& data);

// A line for each file that cannot be read, is not UTF-8, holds a token outside the vocabulary or does not
// fit its partner; and for the first lines that are not a pair. Also where random tokens would stand in for
// files that are not there.
std::vector<std::string> text_faults(const RunConfig& config);

// What is odd but no fault: pairs of which a side is empty.
std::vector<std::string> text_oddities(const RunConfig& config);

}  // namespace mpt
