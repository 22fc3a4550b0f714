// The control block of an update: one per run, in Region::kControl, beside the parameters on the device. Only
// the update ops write it; the host reads a copy late. It goes into a checkpoint as it is.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mpt {

enum class StopReason : std::int32_t {
    kRunning = 0,
    kAtFloor = 1,    // loss scale at its floor for max_skips_at_floor non-finite updates in a row
    kNonFinite = 2,  // max_nonfinite non-finite updates in a row
};

// Fields marked "of this update" are outcomes, rewritten by each update; the others carry over.
struct StepControl {
    std::int64_t attempted = 0;  // = applied + skipped
    std::int64_t applied = 0;    // drives the schedule, Adam's bias correction and the EMA
    std::int64_t skipped = 0;
    std::int64_t growth_counter = 0;         // clean updates since the last growth or overflow
    std::int64_t consecutive_nonfinite = 0;  // skips in a row up to now, in every precision
    double gradient_norm = 0;                // of this update: 2-norm, unscaled, before clipping
    double learning_rate = 0;                // of this update
    float loss_scale = 1;                    // the next loss is multiplied by this
    float used_loss_scale = 1;               // of this update: its gradients carry this scale
    float clip_factor = 1;                   // of this update
    float gradient_factor = 1;               // of this update: clip_factor / used_loss_scale
    std::int32_t hysteresis_left = 1;        // overflows until the scale backs off
    std::int32_t skips_at_floor = 0;         // in a row, with the scale at its floor
    std::int32_t found_nonfinite = 0;        // of this update: 1 when a gradient is inf or NaN
    std::int32_t skip = 0;                   // of this update: 1 when parameters and moments stay as they are
    StopReason stop = StopReason::kRunning;  // once set, later updates change nothing
    std::int32_t reserved = 0;
    bool operator==(const StepControl&) const = default;
};
static_assert(std::is_trivially_copyable_v<StepControl> && std::is_standard_layout_v<StepControl>);
static_assert(sizeof(StepControl) == 96);

}  // namespace mpt
