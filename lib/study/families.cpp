#include "study/families.h"

namespace mpt {

PrecisionMode like(PrecisionMode mode, StudiedDevice device) {
    if (mode == PrecisionMode::kTf32) return PrecisionMode::kFp32;
    return mode == PrecisionMode::kAmpBf16 && device == StudiedDevice::kGpu ? PrecisionMode::kAmpFp16 : mode;
}

Families::Families(const RunConfig& config, const DescribedData& data, int num_threads, StudiedDevice device)
    : config_(config), data_(data), num_threads_(num_threads), device_(device) {
    for (const PrecisionMode mode : kStudiedModes) {
        if (like(mode, device) != mode) continue;
        for (const Recompute recompute : {Recompute::kOff, Recompute::kBlocks})
            families_[{mode, recompute, Style::kFused}];
        if (device == StudiedDevice::kGpu && mode != PrecisionMode::kFp16Pure)
            families_[{mode, Recompute::kOff, Style::kPlain}];
    }
    families_[{like(config_.precision.mode, device_), Recompute::kOff, Style::kFused}];
    if (device_ == StudiedDevice::kGpu && config_.model.is_text())
        families_[{PrecisionMode::kFp8, config_.memory.recompute, Style::kFused}];
    families_[own_key()];
}

std::vector<Job> Families::jobs() {
    std::vector<Job> jobs;
    for (auto& [key, family] : families_)
        jobs.push_back([this, &key, &family] {
            const auto& [mode, recompute, style] = key;
            family = std::make_unique<StepFamily>(config_, data_.data, num_threads_,
                                                  StepVariant{mode, recompute, style});
        });
    return jobs;
}

const StepFamily& Families::of(PrecisionMode mode, Recompute recompute, Style style) const {
    // Without fusion fp16_pure takes as long as amp_fp16.
    if (style == Style::kPlain && mode == PrecisionMode::kFp16Pure) mode = PrecisionMode::kAmpFp16;
    return *families_.at({like(mode, device_), recompute, style});
}

const StepFamily& Families::own() const {
    return *families_.at(own_key());
}

Families::Key Families::own_key() const {
    const PrecisionMode mode = config_.precision.mode;
    const bool bf16 = mode == PrecisionMode::kAmpBf16;
    return {bf16 ? mode : like(mode, device_), config_.memory.recompute, Style::kFused};
}

}  // namespace mpt
