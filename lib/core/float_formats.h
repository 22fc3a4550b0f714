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

// Eight bits, after Micikevicius et al., "FP8 Formats for Deep Learning", arXiv:2209.05433: e4m3 ends at 448
// and has no infinity, e5m2 ends at 57344. Finite values saturate; what is not finite becomes NaN, so that an
// overflow before the conversion does not pass for a large number.
inline constexpr std::uint8_t kFp8Nan = 0x7f;
inline constexpr float kGreatestE4m3 = 448.0f, kGreatestE5m2 = 57344.0f;

template <int mantissa_bits, int bias, std::uint8_t greatest>
constexpr std::uint8_t fp8_bits(float value) {
    constexpr int kShift = 23 - mantissa_bits;
    constexpr std::uint32_t kLeastNormal = static_cast<std::uint32_t>(128 - bias) << 23;
    const std::uint32_t x = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (x >> 24) & 0x80u;
    const std::uint32_t magnitude = x & 0x7fffffffu;
    if (magnitude >= 0x7f800000u) return kFp8Nan;
    if (magnitude < kLeastNormal) {  // subnormal or zero
        const int shift = 151 - bias - mantissa_bits - static_cast<int>(magnitude >> 23);
        if (shift > 24) return static_cast<std::uint8_t>(sign);
        const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        const std::uint32_t kept = mantissa >> shift;
        const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
        const std::uint32_t half = 1u << (shift - 1);
        const std::uint32_t up = (rest > half || (rest == half && (kept & 1u))) ? 1u : 0u;
        return static_cast<std::uint8_t>(sign | (kept + up));
    }
    const std::uint32_t rounded = magnitude + ((1u << (kShift - 1)) - 1u) + ((magnitude >> kShift) & 1u);
    const std::uint32_t bits = (rounded - (static_cast<std::uint32_t>(127 - bias) << 23)) >> kShift;
    return static_cast<std::uint8_t>(sign | (bits < greatest ? bits : greatest));
}

// Exact. `finite_exponents`: the largest exponent holds numbers, too, and one NaN.
template <int mantissa_bits, int bias, bool finite_exponents>
constexpr float fp8_value(std::uint8_t bits) {
    constexpr std::uint32_t kMantissa = (1u << mantissa_bits) - 1u;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80u) << 24;
    const std::uint32_t exponent = (bits & 0x7fu) >> mantissa_bits, mantissa = bits & kMantissa;
    constexpr std::uint32_t kLast = 0x7fu >> mantissa_bits;
    if (exponent == kLast && (!finite_exponents || mantissa == kMantissa))
        return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << (23 - mantissa_bits)));
    if (exponent == 0) {
        constexpr float kUnit =
            std::bit_cast<float>(static_cast<std::uint32_t>(128 - bias - mantissa_bits) << 23);
        const float magnitude = static_cast<float>(mantissa) * kUnit;
        return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + static_cast<std::uint32_t>(127 - bias)) << 23) |
                                (mantissa << (23 - mantissa_bits)));
}

constexpr std::uint8_t e4m3_bits(float value) {
    return fp8_bits<3, 7, 0x7e>(value);
}
constexpr float e4m3_value(std::uint8_t bits) {
    return fp8_value<3, 7, true>(bits);
}
constexpr std::uint8_t e5m2_bits(float value) {
    return fp8_bits<2, 15, 0x7b>(value);
}
constexpr float e5m2_value(std::uint8_t bits) {
    return fp8_value<2, 15, false>(bits);
}

// Storage types for templated loops, converted explicitly.
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

struct e4m3 {
    std::uint8_t bits = 0;
    static constexpr float kGreatest = kGreatestE4m3;
    e4m3() = default;
    constexpr explicit e4m3(float value) : bits(e4m3_bits(value)) {}
    constexpr explicit operator float() const { return e4m3_value(bits); }
};

struct e5m2 {
    std::uint8_t bits = 0;
    static constexpr float kGreatest = kGreatestE5m2;
    e5m2() = default;
    constexpr explicit e5m2(float value) : bits(e5m2_bits(value)) {}
    constexpr explicit operator float() const { return e5m2_value(bits); }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2 && sizeof(e4m3) == 1 && sizeof(e5m2) == 1);

}  // namespace mpt
