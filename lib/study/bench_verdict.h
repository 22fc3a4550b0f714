// What measured speed is worth: beside the device's peaks, the forecast and what was published.
#pragma once

#include "backends/cuda/device.h"
#include "study/bench.h"
#include "train/training_program.h"

namespace mpt {

struct Benched {
    const RunConfig& config;
    const DataDescription& data;
    const gpu::Device* device = nullptr;  // null: the CPU
};

// Fills device, rates, forecast, published figure and verdict from the series.
void judge(BenchResult& result, const Benched& benched);

}  // namespace mpt
