// GPUs that are not there, for plans of cuDNN: from descriptions of their properties
// (tests/golden/cudnn_devices, approximate), and a driver that only lets cuDNN compile, or a compiler that
// only says yes.
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
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

inline std::string device_json(const std::string& arch) {
    return file_text(std::string(MPT_TESTS_DIR) + "/golden/cudnn_devices/" + arch + ".json");
}
inline gpu::CudnnTarget cudnn_target(const std::string& arch) {
    return gpu::CudnnTarget::of_json(device_json(arch));
}

// MPT_TRUE_COMPILER=1: cuDNN compiles what it plans, seconds each.
inline bool true_compiler() {
    return std::getenv("MPT_TRUE_COMPILER") != nullptr;
}

// cuDNN finds the driver and the compiler by their names, as they are loaded already.
inline bool load_fake_driver() {
    return dlopen(MPT_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL) != nullptr &&
           (true_compiler() || dlopen(MPT_FAKE_COMPILER, RTLD_NOW | RTLD_GLOBAL) != nullptr);
}

// tests/golden/<name>_<version of cuDNN>.txt
inline std::string golden_path(const std::string& name) {
    return std::string(MPT_TESTS_DIR) + "/golden/" + name + "_" + gpu::cudnn_version_text() + ".txt";
}

// By architecture the words of convolutions whose code the true compiler refuses; asked anew with it.
inline std::map<std::string, std::set<std::string>> uncompilable() {
    std::map<std::string, std::set<std::string>> words_of;
    if (true_compiler()) return words_of;
    std::istringstream lines(file_text(golden_path("cudnn_uncompilable")));
    for (std::string arch, words; lines >> arch && std::getline(lines >> std::ws, words);)
        words_of[arch].insert(words);
    return words_of;
}

// Compares with the golden table; another version of cuDNN plans otherwise. MPT_UPDATE_GOLDEN=1 writes it.
inline void check_golden_plans(const std::string& name, const std::string& table) {
    const std::string golden = golden_path(name);
    if (std::getenv("MPT_UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << table;
    const std::string expected = file_text(golden);
    if (expected.empty())
        WARN("SKIPPED: no golden table for cuDNN " + gpu::cudnn_version_text());
    else
        CHECK(table == expected);
}

}  // namespace mpt::test
