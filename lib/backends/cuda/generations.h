// What a compute capability means: generation, formats of its Tensor Cores, and dense peak rates.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/device.h"

namespace mpt::gpu {

std::string generation_of(int compute_capability);  // "Hopper"; "unknown" for one we do not know
// Formats that its Tensor Cores multiply: f16, bf16, tf32, fp8, and 2:4 sparsity.
std::vector<std::string> tensor_formats(int compute_capability);

// Dense peaks in TFLOP/s; f32 on plain cores, the others on Tensor Cores with f32 sums. 0: not there.
struct Peaks {
    double f32 = 0, tf32 = 0, f16 = 0, bf16 = 0, fp8 = 0;
};
// By the white papers' rates of an SM, from SM count and the greatest clock that the driver allows, which may
// be above the one that makers state peaks at; forecast/device_peaks.h has those of known GPUs.
Peaks computed_peaks(const DeviceInfo& info);
double memory_gb_per_second(const DeviceInfo& info);

}  // namespace mpt::gpu
