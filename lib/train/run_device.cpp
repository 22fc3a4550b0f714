#include "train/run_device.h"

#include <cstdlib>

#include "config/words.h"
#include "core/error.h"

namespace mpt {

namespace {

constexpr PrecisionMode kModes[] = {PrecisionMode::kFp32,     PrecisionMode::kTf32,
                                    PrecisionMode::kAmpFp16,  PrecisionMode::kAmpBf16,
                                    PrecisionMode::kFp16Pure, PrecisionMode::kFp8};

int gpu_index(const std::string& device) {
    return device == "cuda" ? 0 : std::stoi(device.substr(device.find(':') + 1));
}

gpu::Autotune autotune_of(AutotuneMode mode) {
    switch (mode) {
        case AutotuneMode::kMeasure:
            return gpu::Autotune::kMeasure;
        case AutotuneMode::kHeuristic:
            return gpu::Autotune::kHeuristic;
        default:
            return gpu::Autotune::kOff;
    }
}

// A journal beside other caches of the user's; none where there is no home.
std::string journal_path() {
    const char* home = std::getenv("XDG_CACHE_HOME");
    if (home != nullptr && *home != 0) return std::string(home) + "/mpt-train-autotune.tsv";
    home = std::getenv("HOME");
    return home == nullptr ? "" : std::string(home) + "/.cache/mpt-train-autotune.tsv";
}

gpu::DeviceSettings settings_of(const RunConfig& config, PrecisionMode mode) {
    gpu::DeviceSettings settings;
    settings.tf32 = mode == PrecisionMode::kTf32;
    settings.journal = journal_path();
    settings.deterministic = config.deterministic;
    settings.workspace_bytes = config.autotune.workspace_mib << 20;
    settings.autotune = autotune_of(config.autotune.mode);
    return settings;
}

}  // namespace

std::string name_of_device(const gpu::Device* device) {
    if (device == nullptr) return "CPU";
    const int capability = device->info().compute_capability;
    return device->info().name + " (compute capability " + std::to_string(capability / 10) + "." +
           std::to_string(capability % 10) + ")";
}

bool runs_mode(const gpu::Device* device, PrecisionMode mode) {
    if (device == nullptr) return true;
    if (mode == PrecisionMode::kFp8) return device->info().compute_capability >= 89;
    const bool ampere = mode == PrecisionMode::kTf32 || mode == PrecisionMode::kAmpBf16;
    return !ampere || device->info().compute_capability >= 80;
}

std::string modes_of(const gpu::Device* device) {
    std::string text;
    for (const PrecisionMode mode : kModes)
        if (runs_mode(device, mode)) text += (text.empty() ? "" : ", ") + std::string(name_of(mode));
    return text;
}

RunsOn runs_on(const KernelTable& kernels, gpu::Device& device) {
    RunsOn on;
    on.kernels = kernels;
    on.device = &device;
    return on;
}

void require_mode(const gpu::Device* device, PrecisionMode mode) {
    if (!runs_mode(device, mode))
        throw Error(ExitCode::kUsage, "precision.mode: " + std::string(name_of(mode)) +
                                          " is not for this device, " + name_of_device(device) +
                                          "; it runs " + modes_of(device) +
                                          " (precision.fallback: true takes a wider one)");
}

PrecisionMode mode_on(const gpu::Device* device, const PrecisionConfig& precision) {
    if (!precision.fallback || runs_mode(device, precision.mode)) return precision.mode;
    const bool bf16 = precision.mode == PrecisionMode::kFp8 && runs_mode(device, PrecisionMode::kAmpBf16);
    return bf16 ? PrecisionMode::kAmpBf16 : PrecisionMode::kFp32;
}

RunsOn run_device(const RunConfig& config) {
    const bool named = config.device.rfind("cuda", 0) == 0;
    RunsOn on;
    if (named || (config.device == "auto" && gpu::count_devices().count > 0)) {
        std::unique_ptr<gpu::Device> device = gpu::open_device(named ? gpu_index(config.device) : 0);
        on = runs_on(cuda_kernels(), *device);
        on.owned_device = std::move(device);
    } else {
        on.kernels = config.debug.reference_kernels ? reference_kernels() : cpu_kernels();
    }
    const PrecisionMode mode = mode_on(on.device, config.precision);
    require_mode(on.device, mode);
    if (on.device != nullptr) on.device->set(settings_of(config, mode));
    return on;
}

}  // namespace mpt
