// What a run runs on: a table of kernels, and the device they want.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/device.h"
#include "config/run_config.h"
#include "graph/gpu_kernels.h"

namespace mpt {

struct RunsOn {
    KernelTable kernels;
    gpu::Device* device = nullptr;                   // null: the CPU
    std::unique_ptr<gpu::Device> owned_device = {};  // where nobody else keeps it
};

// What `device` of the config asks for: auto is the first GPU where there is one, otherwise the CPU. Throws
// Error(kUsage) where the device is not there, or cannot do the precision.
RunsOn run_device(const RunConfig& config);
// Kernels of a table on a device.
RunsOn runs_on(const KernelTable& kernels, gpu::Device& device);

std::string name_of_device(const gpu::Device* device);  // "CPU", or a GPU's name and compute capability
// Throws Error(kUsage) with the device, its compute capability and its modes where it lacks this one.
void require_mode(const gpu::Device* device, PrecisionMode mode);
// The config's mode; with precision.fallback, the next wider one that the device runs: amp_bf16 or fp32.
PrecisionMode mode_on(const gpu::Device* device, const PrecisionConfig& precision);
// The modes of precision that it runs, in words; empty for a mode it lacks when asked for one.
bool runs_mode(const gpu::Device* device, PrecisionMode mode);
std::string modes_of(const gpu::Device* device);

}  // namespace mpt
