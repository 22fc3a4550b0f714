// The dense peaks that a GPU at hand is judged by: the table's where it has the GPU, else computed ones.
#pragma once

#include "backends/cuda/generations.h"
#include "forecast/gpu.h"

namespace mpt {

struct DevicePeaks {
    gpu::Peaks tflops;
    const Gpu* row = nullptr;  // of gpu_table(); null: computed from the white papers' rates
    double clock_mhz = 0;      // that they hold at

    double of(ComputeFormat format) const;  // TFLOP/s; 0: not there
    std::string source() const;             // "gpu_table.csv, H100-SXM5" or "computed"
};

// A slice of a GPU, which has fewer SMs than the table says, is computed.
DevicePeaks peaks_of(const gpu::DeviceInfo& info);

}  // namespace mpt
