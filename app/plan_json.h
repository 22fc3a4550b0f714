// A plan as JSON: the same figures as in its text, every op included.
#pragma once

#include <nlohmann/json.hpp>

#include "study/study.h"

namespace mpt::app {

nlohmann::ordered_json json_of(const PlanStudy& study);
nlohmann::ordered_json json_of(const std::vector<CalibrationRow>& rows);

}  // namespace mpt::app
