// Committed values of other programs: tests/golden/<name>.json, written by scripts/golden/.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace mpt::test {

inline nlohmann::json golden(const std::string& name) {
    std::ifstream file(std::string(MPT_TESTS_DIR) + "/golden/" + name + ".json");
    return nlohmann::json::parse(file);  // throws when the file is missing
}

}  // namespace mpt::test
