// How full the step arena is while a micro-step runs, as a picture.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"
#include "plan/plan.h"

namespace mpt {

// Bytes of values alive while each step runs, workspace included.
std::vector<double> live_bytes(const Plan& plan);

// Plans the run's micro-step again; no data set is needed.
std::string memory_picture(const RunConfig& config, const std::string& title);

}  // namespace mpt
