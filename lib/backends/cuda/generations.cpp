#include "backends/cuda/generations.h"

namespace mpt::gpu {

namespace {

// Of one SM: f32 lanes of plain cores, and f16 multiply-adds a clock of its Tensor Cores (NVIDIA's white
// papers).
struct Core {
    int first;  // compute capability it begins with
    const char* generation;
    int f32_lanes, f16_fma;
    bool bf16, fp8, sparsity;
};
constexpr Core kCores[] = {
    {70, "Volta", 64, 512, false, false, false},     {75, "Turing", 64, 512, false, false, false},
    {80, "Ampere", 64, 1024, true, false, true},     {86, "Ampere", 128, 512, true, false, true},
    {89, "Ada", 128, 512, true, true, true},         {90, "Hopper", 128, 2048, true, true, true},
    {100, "Blackwell", 128, 4096, true, true, true}, {120, "Blackwell", 128, 512, true, true, true},
};

const Core* core_of(int compute_capability) {
    const Core* found = nullptr;
    for (const Core& core : kCores)
        if (core.first <= compute_capability) found = &core;
    return found;
}

}  // namespace

std::string generation_of(int compute_capability) {
    const Core* core = core_of(compute_capability);
    return core == nullptr ? "unknown" : core->generation;
}

std::vector<std::string> tensor_formats(int compute_capability) {
    const Core* core = core_of(compute_capability);
    if (core == nullptr) return {};
    std::vector<std::string> formats = {"f16"};
    if (core->bf16) formats.insert(formats.end(), {"bf16", "tf32"});
    if (core->fp8) formats.push_back("fp8");
    if (core->sparsity) formats.push_back("2:4");
    return formats;
}

Peaks computed_peaks(const DeviceInfo& info) {
    const Core* core = core_of(info.compute_capability);
    if (core == nullptr) return {};
    const double tera = 2e-9 * info.num_sms * info.sm_clock_khz;  // of one multiply-add a clock and SM
    Peaks peaks;
    peaks.f32 = tera * core->f32_lanes;
    // GeForce sums in f32 at half rate, which no attribute tells but the name.
    const double share = info.name.find("GeForce") == std::string::npos ? 1 : 0.5;
    peaks.f16 = share * tera * core->f16_fma;
    if (core->bf16) {
        peaks.bf16 = peaks.f16;
        peaks.tf32 = peaks.f16 / 2;
    }
    if (core->fp8) peaks.fp8 = peaks.f16 * 2;
    return peaks;
}

double memory_gb_per_second(const DeviceInfo& info) {
    return 2e-6 * info.memory_clock_khz * info.memory_bus_bits / 8;
}

}  // namespace mpt::gpu
