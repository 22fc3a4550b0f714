// Storage formats narrower than f32, rounded to nearest-even, on any CPU. The fast kernels use the machine's
// own conversions; these are the definition they are tested against.
#pragma once

#include <bit>
#include <cstdint>

namespace mpt {

// IEEE binary16 bits <-> f32. Overflow gives infinity, NaN stays NaN (quiet), subnormals are kept.
constexpr std::uint16_t f16_bits(float value) {
    const std::uint32_t x = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (x >> 16) & 0x8000u;
    const std::uint32_t magnitude = x & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x477ff000u)
        return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 65520 rounds to inf
    if (magnitude < 0x38800000u) {                          // subnormal or zero in f16
        if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);
        const int shift = 126 - static_cast<int>(magnitude >> 23);  // 14..24
        const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        const std::uint32_t kept = mantissa >> shift;
        const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
        const std::uint32_t half = 1u << (shift - 1);
        const std::uint32_t up = (rest > half || (rest == half && (kept & 1u))) ? 1u : 0u;
        return static_cast<std::uint16_t>(sign | (kept + up));
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

constexpr float f16_value(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

// bfloat16 bits <-> f32.
constexpr std::uint16_t bf16_bits(float value) {
    const std::uint32_t x = std::bit_cast<std::uint32_t>(value);
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((x >> 16) | 0x40u);
    return static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

constexpr float bf16_value(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Storage types for templated loops: two bytes each, converted explicitly.
struct f16 {
    std::uint16_t bits = 0;
    f16() = default;
    constexpr explicit f16(float value) : bits(f16_bits(value)) {}
    constexpr explicit operator float() const { return f16_value(bits); }
};

struct bf16 {
    std::uint16_t bits = 0;
    bf16() = default;
    constexpr explicit bf16(float value) : bits(bf16_bits(value)) {}
    constexpr explicit operator float() const { return bf16_value(bits); }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);

}  // namespace mpt
