// Rates of single matrix products on pseudo-random numbers (zeros would draw less power, and so run at higher
// clocks), each result checked at some places against sums in f64. What `mpt-train gemm` prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/gemm_variants.h"
#include "forecast/device_peaks.h"

namespace mpt {

struct GemmSize {
    std::int64_t m = 0, n = 0, k = 0;
};

struct GemmRate {
    std::string precision, way;
    double ms = 0, tflops = 0;
    double share = 0;     // of the peak; 0: none is known
    std::string refusal;  // why it does not run
    std::string fault;    // a wrong result
};

// The mean of 20 runs behind one that warms up.
GemmRate gpu_gemm_rate(gpu::Device& device, const gpu::GemmVariant& variant, const DevicePeaks& peaks);

// f32, f16, bf16 and fp8 by the kernels that training uses; the median of some runs. What the processor has
// no instructions for is called emulated. `peak_tflops` is that of f32 (0: unknown).
std::vector<GemmRate> cpu_gemm_rates(const GemmSize& size, int num_threads, double peak_tflops);

// Pseudo-random numbers in (-1, 1) in the bytes of a storage type. They repeat, but at a prime.
class GemmOperand {
  public:
    GemmOperand(DType type, std::uint64_t seed);
    DType type() const { return type_; }
    const std::vector<std::byte>& block() const { return bytes_; }  // one period
    float value(std::int64_t index) const;                          // as it was rounded

  private:
    DType type_;
    std::vector<std::byte> bytes_;
    std::vector<float> values_;
};

}  // namespace mpt
