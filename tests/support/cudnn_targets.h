// GPUs that are not there, for plans of cuDNN: from descriptions of their properties
// (tests/golden/cudnn_devices, approximate), and a driver that only lets cuDNN compile.
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "backends/cuda/device/cudnn_graph.h"

namespace mpt::test {

inline const char* const kArchitectures[] = {"sm75", "sm80", "sm86", "sm89", "sm90", "sm100", "sm120"};

inline std::string file_text(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::string device_text(const std::string& arch) {
    return file_text(std::string(MPT_TESTS_DIR) + "/golden/cudnn_devices/" + arch + ".json");
}
inline gpu::CudnnTarget cudnn_target(const std::string& arch) {
    return gpu::CudnnTarget::of_json(device_text(arch));
}

// cuDNN finds it by its name, as it is loaded already.
inline bool load_fake_driver() {
    return dlopen(MPT_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

// Compares with tests/golden/<name>_<version of cuDNN>.txt; another version plans otherwise.
// MPT_UPDATE_GOLDEN=1 writes it.
inline void check_golden_plans(const std::string& name, const std::string& table) {
    const std::string version = gpu::cudnn_version_text();
    const std::string golden = std::string(MPT_TESTS_DIR) + "/golden/" + name + "_" + version + ".txt";
    if (std::getenv("MPT_UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << table;
    const std::string expected = file_text(golden);
    if (expected.empty())
        WARN("SKIPPED: no golden table for cuDNN " + version);
    else
        CHECK(table == expected);
}

}  // namespace mpt::test
