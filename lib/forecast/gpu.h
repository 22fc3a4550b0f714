// The GPUs a forecast can be made for: gpu_table.csv, compiled into the program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace mpt {

// What a product is computed in. f32 is the plain CUDA cores' arithmetic, everything else Tensor Cores'.
enum class ComputeFormat : std::uint8_t { kF32, kTf32, kF16, kBf16, kFp8 };
std::string_view name_of(ComputeFormat format);

struct Gpu {
    std::string name;
    std::vector<std::string> aliases;
    int major = 0, minor = 0;  // compute capability
    int num_sms = 0;
    double clock_mhz = 0;
    std::int64_t memory_bytes = 0;
    double bandwidth = 0;                  // bytes/s
    std::map<std::string, double> tflops;  // dense peak by the csv's word for the format
    std::string note;

    std::string generation() const;  // Volta, Turing, Ampere, Ada, Hopper, Blackwell
    // Dense peak, flop/s; 0 when the GPU has no such arithmetic.
    double peak(ComputeFormat format) const;
    // As cuDNN's device properties say it, in JSON: enough to plan without the GPU. What the table does not
    // have is the generation's.
    std::string device_properties() const;
    // What is left for a run: the driver's context and libraries take their part.
    std::int64_t usable_bytes() const;
};

// The csv's text (made by CMake) and the table parsed from it.
extern const char* const kGpuTableText;
std::vector<Gpu> parse_gpu_table(std::string_view csv);
const std::vector<Gpu>& gpu_table();

// By name or alias, whatever the case and punctuation: "A100", "rtx 4090", "H100-SXM5". Throws Error(kUsage)
// naming all there are.
const Gpu& find_gpu(std::string_view name);
// By what a driver calls it: "NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090". Null for one not in the
// table, as a sister with other clocks ("H100 NVL") or a slice of a GPU (MIG).
const Gpu* gpu_of_driver(std::string_view name);

}  // namespace mpt
