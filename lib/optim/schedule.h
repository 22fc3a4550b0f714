// The learning rate of an update as a pure function of how many updates were applied before it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace mpt {

struct ScheduleSpec {
    enum class Type : std::uint8_t { kConstant, kStep, kCosine, kPoly, kLinear, kInverseSqrt };
    static constexpr int kMaxMilestones = 32;

    Type type = Type::kConstant;
    double base = 0.1;
    double min = 0;           // never below this, warm-up aside
    std::int64_t warmup = 0;  // updates: update k of w uses base * k / w
    std::int64_t length = 0;  // cosine, poly, linear: update `length` is the first at `min`
    double gamma = 0.1;       // step
    double power = 2;         // poly
    std::int64_t
        milestones[kMaxMilestones]{};  // step: base * gamma^i once milestones[i-1] updates are applied
    int num_milestones = 0;
    bool operator==(const ScheduleSpec&) const = default;
};

namespace schedule {

// How far update `number` (from 1) is on the way from the peak (0) to the end (1). The peak is the last
// update of the warm-up, or the first update when there is none.
MPT_HOST_DEVICE inline double progress(const ScheduleSpec& spec, std::int64_t number) {
    const std::int64_t peak = spec.warmup > 1 ? spec.warmup : 1;
    if (number <= peak) return 0;
    if (number >= spec.length) return 1;
    return static_cast<double>(number - peak) / static_cast<double>(spec.length - peak);
}

// The rate apart from warm-up and minimum.
MPT_HOST_DEVICE inline double decayed(const ScheduleSpec& spec, std::int64_t number) {
    constexpr double kPi = 3.14159265358979323846;
    const double p = progress(spec, number);
    const double span = spec.base - spec.min;
    switch (spec.type) {
        case ScheduleSpec::Type::kConstant:
            return spec.base;
        case ScheduleSpec::Type::kStep: {
            double rate = spec.base;
            for (int i = 0; i < spec.num_milestones && number > spec.milestones[i]; ++i) rate *= spec.gamma;
            return rate;
        }
        case ScheduleSpec::Type::kCosine:
            return spec.min + span * 0.5 * (1 + std::cos(kPi * p));
        case ScheduleSpec::Type::kPoly:
            return spec.min + span * std::pow(1 - p, spec.power);
        case ScheduleSpec::Type::kLinear:
            return spec.min + span * (1 - p);
        case ScheduleSpec::Type::kInverseSqrt: {
            // Vaswani et al. 2017, section 5.3, with `base` as the peak instead of a constant of the width.
            const double peak = spec.warmup > 1 ? static_cast<double>(spec.warmup) : 1;
            return spec.base * std::sqrt(peak / static_cast<double>(number > 0 ? number : 1));
        }
    }
    return spec.base;
}

}  // namespace schedule

// Rate of the update that follows `applied_updates` applied ones. Finite for any number, past the end as
// well.
MPT_HOST_DEVICE inline double learning_rate(const ScheduleSpec& spec, std::int64_t applied_updates) {
    const std::int64_t number = applied_updates + 1;
    if (number <= spec.warmup)
        return spec.base * static_cast<double>(number) / static_cast<double>(spec.warmup);
    const double rate = schedule::decayed(spec, number);
    return rate < spec.min ? spec.min : rate;
}

}  // namespace mpt
