// The micro-steps that a study looks at: a StepFamily for each precision, with and without recomputing, and
// for GPUs also as frameworks run them, without fusion.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "study/description.h"
#include "study/jobs.h"
#include "study/step_family.h"

namespace mpt {

inline constexpr std::array kStudiedModes = {PrecisionMode::kFp32, PrecisionMode::kTf32,
                                             PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16,
                                             PrecisionMode::kFp16Pure};

enum class StudiedDevice : std::uint8_t { kCpu, kGpu };
// The mode whose micro-step has the same sizes and, but for its products, the same speed. On a CPU bf16 has
// kernels, and so workspaces, of its own.
PrecisionMode like(PrecisionMode mode, StudiedDevice device);

class Families {
  public:
    // Config and data must outlive it. jobs() builds what of() and own() then give.
    Families(const RunConfig& config, const DescribedData& data, int num_threads, StudiedDevice device);
    std::vector<Job> jobs();

    const StepFamily& of(PrecisionMode mode, Recompute recompute, Style style) const;
    // The config's own, to the element type.
    const StepFamily& own() const;
    StudiedDevice device() const { return device_; }

  private:
    using Key = std::tuple<PrecisionMode, Recompute, Style>;
    Key own_key() const;

    const RunConfig& config_;
    const DescribedData& data_;
    int num_threads_;
    StudiedDevice device_;
    std::map<Key, std::unique_ptr<StepFamily>> families_;
};

}  // namespace mpt
