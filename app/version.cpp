#include <fmt/core.h>
#include <spdlog/version.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

#include "backends/cpu/threads.h"
#include "backends/cpu/versions.h"
#include "backends/cuda/device.h"
#include "commands.h"

namespace mpt::app {

namespace {

std::string gpu_text() {
    const gpu::DeviceCount found = gpu::count_devices();
    return found.count > 0 ? fmt::format("{} GPUs", found.count) : found.reason;
}

}  // namespace

std::string version_text() {
    std::string text = fmt::format("mpt-train {}\n", MPT_VERSION);
    text += fmt::format("compiler: {} {}\n", "g++", __VERSION__);
    text += fmt::format(
        "libraries: oneDNN {}, libxsmm {}, fmt {}.{}.{}, spdlog {}.{}.{}, nlohmann-json {}.{}.{}, CLI11 {}\n",
        cpu::onednn_version(), cpu::xsmm_version(), FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
        FMT_VERSION % 100, SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH, NLOHMANN_JSON_VERSION_MAJOR,
        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, CLI11_VERSION);
    text += fmt::format("instruction sets: {}\n", cpu::instruction_sets());
    text += fmt::format("CPU backend: built, {} usable cores\n", cpu::num_usable_cores());
    text += "CUDA backend: " + gpu::cuda_build_text();
    if (gpu::built_with_cuda()) text += "; " + gpu_text();
    text += "\n";
    return text;
}

}  // namespace mpt::app
