// How a tensor's fp8 scale follows from what the tensor was. State, f32: [0] the scale of the next use, 0 as
// long as there was none; [1] where the next greatest magnitude goes; [2 + i] those of the last uses. All
// zero is a state that was never used: its first use takes the scale that fits what it sees. A tensor of
// zeros or with elements that are not finite leaves the scale as it is, and the latter leaves no trace at
// all.
//
// Scales are powers of two: multiplying by them rounds nothing, so that fp8's rounding is the only one.
#pragma once

#include <bit>
#include <cstdint>

#include "core/host_device.h"

namespace mpt::scaling {

inline constexpr std::int64_t kScale = 0, kNext = 1, kFirstAmax = 2;

// The largest power of two that brings `amax`, finite and above 0, to at most `greatest` / 2^margin; within
// 2^-126 .. 2^126, so that its inverse is a normal number.
MPT_HOST_DEVICE inline float scale_for(float amax, float greatest, int margin) {
    const std::uint32_t a = std::bit_cast<std::uint32_t>(amax), g = std::bit_cast<std::uint32_t>(greatest);
    const int exponent_of_amax = static_cast<int>(a >> 23) == 0 ? 1 : static_cast<int>(a >> 23);
    int exponent = static_cast<int>(g >> 23) - exponent_of_amax - margin;
    if ((a & 0x7fffffu) > (g & 0x7fffffu)) --exponent;
    exponent = exponent < -126 ? -126 : exponent > 126 ? 126 : exponent;
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

MPT_HOST_DEVICE inline bool is_finite(float value) {
    return (std::bit_cast<std::uint32_t>(value) & 0x7f800000u) != 0x7f800000u;
}

// Of this use: the state's, or what fits the tensor at hand, whose greatest magnitude is `amax`.
MPT_HOST_DEVICE inline float scale_now(float of_state, float amax, float greatest, int margin) {
    if (of_state != 0) return of_state;
    return amax > 0 && is_finite(amax) ? scale_for(amax, greatest, margin) : 1.0f;
}

// Of the next use, `most` being the greatest of the history.
MPT_HOST_DEVICE inline float scale_next(float of_state, float most, float greatest, int margin) {
    return most > 0 ? scale_for(most, greatest, margin) : of_state;
}

}  // namespace mpt::scaling
