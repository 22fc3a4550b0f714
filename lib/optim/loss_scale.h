// The rule of dynamic loss scaling as a pure function, and the presets of known frameworks. The paper
// (arXiv:1710.03740) asks for scaling; these constants are the frameworks'.
#pragma once

#include <cfloat>
#include <cstdint>

#include "core/host_device.h"

namespace mpt {

struct LossScaleSpec {
    enum class Refill : std::uint8_t {
        kGrowth,
        kConsecutive
    };  // hysteresis: at growth, or by a clean update
    // At the floor the scale stays and the update is skipped; kStop ends the run after max_skips_at_floor of
    // them in a row. kClamp is Megatron's word for kSkip.
    enum class AtFloor : std::uint8_t { kStop, kSkip, kClamp };

    bool dynamic = false;  // false: the scale stays at `init`, non-finite updates are skipped and counted
    double init = 1;
    double growth_factor = 2;
    std::int64_t growth_interval = 2000;  // clean updates in a row; 0: never grows
    double backoff = 0.5;
    std::int32_t hysteresis = 1;  // overflows until the scale backs off
    Refill refill = Refill::kGrowth;
    double floor = 0;    // 0: the smallest normal f32
    double ceiling = 0;  // 0: the largest finite f32
    std::int32_t max_skips_at_floor = 20;
    AtFloor at_floor = AtFloor::kSkip;
    bool operator==(const LossScaleSpec&) const = default;
};

struct LossScaleState {
    float scale = 1;
    std::int64_t growth_counter = 0;   // clean updates since the last growth or overflow
    std::int32_t hysteresis_left = 1;  // overflows until the scale backs off
    std::int32_t skips_at_floor = 0;   // in a row
    bool stop = false;                 // the run cannot go on: kStop and too many skips at the floor
};

MPT_HOST_DEVICE inline LossScaleState initial_loss_scale(const LossScaleSpec& spec) {
    LossScaleState state;
    state.scale = static_cast<float>(spec.init);
    state.hysteresis_left = spec.hysteresis;
    return state;
}

namespace loss_scale {

MPT_HOST_DEVICE inline float grown(const LossScaleSpec& spec, float scale) {
    double next = static_cast<double>(scale) * spec.growth_factor;
    if (spec.ceiling > 0 && next > spec.ceiling) next = spec.ceiling;
    const bool usable = next > static_cast<double>(scale) && next <= static_cast<double>(FLT_MAX);
    return usable ? static_cast<float>(next) : scale;
}

MPT_HOST_DEVICE inline float lowest(const LossScaleSpec& spec) {
    const float floor = static_cast<float>(spec.floor);
    return floor > FLT_MIN ? floor : FLT_MIN;
}

MPT_HOST_DEVICE inline float backed_off(const LossScaleSpec& spec, float scale) {
    const float next = static_cast<float>(static_cast<double>(scale) * spec.backoff);
    const float bounded = next > lowest(spec) ? next : lowest(spec);
    return bounded < scale ? bounded : scale;
}

}  // namespace loss_scale

// The state after an update whose gradients were `finite` or not. A non-finite update sets the growth counter
// to 0 even when hysteresis keeps the scale.
MPT_HOST_DEVICE inline LossScaleState next_loss_scale(const LossScaleSpec& spec, LossScaleState state,
                                                      bool finite) {
    if (!spec.dynamic) return state;
    if (finite) {
        state.skips_at_floor = 0;
        if (spec.refill == LossScaleSpec::Refill::kConsecutive) state.hysteresis_left = spec.hysteresis;
        ++state.growth_counter;
        if (spec.growth_interval <= 0 || state.growth_counter < spec.growth_interval) return state;
        state.growth_counter = 0;
        state.hysteresis_left = spec.hysteresis;
        state.scale = loss_scale::grown(spec, state.scale);
        return state;
    }
    state.growth_counter = 0;
    if (state.hysteresis_left > 0) --state.hysteresis_left;
    if (state.hysteresis_left > 0) return state;
    if (state.scale > loss_scale::lowest(spec)) {
        state.scale = loss_scale::backed_off(spec, state.scale);
        return state;
    }
    ++state.skips_at_floor;
    state.stop =
        spec.at_floor == LossScaleSpec::AtFloor::kStop && state.skips_at_floor >= spec.max_skips_at_floor;
    return state;
}

// Presets; every field may be changed afterwards. Rows of the table in the README of this folder.
namespace loss_scale {

inline LossScaleSpec preset_off() {
    return {};
}
inline LossScaleSpec preset_static(double init) {
    return {.init = init};
}
inline LossScaleSpec preset_default() {
    return {.dynamic = true,
            .init = 0x1p16,
            .floor = 1,
            .ceiling = 0x1p24,
            .max_skips_at_floor = 20,
            .at_floor = LossScaleSpec::AtFloor::kStop};
}
inline LossScaleSpec preset_pytorch() {
    return {.dynamic = true, .init = 0x1p16};
}
inline LossScaleSpec preset_keras() {
    return {.dynamic = true, .init = 0x1p15};
}
inline LossScaleSpec preset_deepspeed() {
    return {.dynamic = true,
            .init = 0x1p16,
            .growth_interval = 1000,
            .hysteresis = 2,
            .floor = 1,
            .max_skips_at_floor = 1,
            .at_floor = LossScaleSpec::AtFloor::kStop};
}
inline LossScaleSpec preset_megatron() {
    return {.dynamic = true,
            .init = 0x1p32,
            .growth_interval = 1000,
            .hysteresis = 2,
            .refill = LossScaleSpec::Refill::kConsecutive,
            .floor = 1,
            .at_floor = LossScaleSpec::AtFloor::kClamp};
}
inline LossScaleSpec preset_nvidia_rn50(double init) {
    return {.dynamic = true, .init = init, .growth_interval = 100};
}

}  // namespace loss_scale

}  // namespace mpt
