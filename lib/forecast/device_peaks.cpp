#include "forecast/device_peaks.h"

namespace mpt {

double DevicePeaks::of(ComputeFormat format) const {
    switch (format) {
        case ComputeFormat::kF32:
            return tflops.f32;
        case ComputeFormat::kTf32:
            return tflops.tf32;
        case ComputeFormat::kF16:
            return tflops.f16;
        case ComputeFormat::kBf16:
            return tflops.bf16;
        case ComputeFormat::kFp8:
            return tflops.fp8;
    }
    return 0;
}

std::string DevicePeaks::source() const {
    return row == nullptr ? "computed" : "gpu_table.csv, " + row->name;
}

DevicePeaks peaks_of(const gpu::DeviceInfo& info) {
    const Gpu* row = gpu_of_driver(info.name);
    if (row == nullptr || row->num_sms != info.num_sms)
        return {gpu::computed_peaks(info), nullptr, 1e-3 * info.sm_clock_khz};
    const auto tera = [&](ComputeFormat format) { return 1e-12 * row->peak(format); };
    const gpu::Peaks peaks = {.f32 = tera(ComputeFormat::kF32),
                              .tf32 = tera(ComputeFormat::kTf32),
                              .f16 = tera(ComputeFormat::kF16),
                              .bf16 = tera(ComputeFormat::kBf16),
                              .fp8 = tera(ComputeFormat::kFp8)};
    return {peaks, row, row->clock_mhz};
}

}  // namespace mpt
