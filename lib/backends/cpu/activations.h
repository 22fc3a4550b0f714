// Activations and their derivatives on eight lanes. For files compiled for AVX2, as simd.h.
#pragma once

#include "backends/cpu/simd.h"
#include "core/pointwise.h"

namespace mpt::simd {

// The share of x that passes and its derivative: y = x share, dy/dx = share + x slope.
struct Gate {
    __m256 share, slope;
};

inline __m256 constant(float value) {
    return _mm256_set1_ps(value);
}

// Phi(-|x|) = t P(t) exp(-x^2 / 2) / 2 with t = 1 / (1 + 0.3 |x| / sqrt(2)). P is a least-maximum fit to
// exp(z^2) erfc(z) / t, z = |x| / sqrt(2), made for this file: its relative error is under 4e-8.
inline Gate gelu_exact_gate(__m256 x) {
    const __m256 magnitude = _mm256_andnot_ps(constant(-0.0f), x);
    const __m256 t =
        _mm256_div_ps(constant(1), _mm256_fmadd_ps(constant(0.212132034f), magnitude, constant(1)));
    __m256 p = constant(-0.1266170932782797f);
    for (const float coefficient :
         {0.47182848437904834f, -0.4846959475197442f, 0.5170530040880632f, -0.07405165573436422f,
          0.20638609117806675f, 0.15046865829769543f, 0.17042374496521506f, 0.16920475194602827f})
        p = _mm256_fmadd_ps(p, t, constant(coefficient));
    const __m256 bell = exp_of_negative(_mm256_mul_ps(_mm256_mul_ps(x, x), constant(-0.5f)));
    const __m256 tail = _mm256_mul_ps(_mm256_mul_ps(constant(0.5f), bell), _mm256_mul_ps(t, p));
    const __m256 positive = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ);
    return {_mm256_blendv_ps(tail, _mm256_sub_ps(constant(1), tail), positive),
            _mm256_mul_ps(bell, constant(0.398942280f))};
}

// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), of |x| so that both it and its distance from 1 keep their digits.
// The power of 2 is that of exp(-2 |u|); it rounds as u itself does. x^2 is bounded where the slope is 0
// anyway, and would make it NaN if it overflowed.
inline Gate gelu_tanh_gate(__m256 x) {
    constexpr float kSlope = 1.595769122f;  // 2 sqrt(2 / pi)
    constexpr float kSlopeOf2 = kSlope * 1.44269504f;
    const __m256 square = _mm256_mul_ps(x, x);
    const __m256 exponent =
        _mm256_mul_ps(_mm256_or_ps(x, constant(-0.0f)),
                      _mm256_fmadd_ps(square, constant(kSlopeOf2 * 0.044715f), constant(kSlopeOf2)));
    const __m256 e = exp2_of_negative(exponent);
    const __m256 greater = _mm256_div_ps(constant(1), _mm256_add_ps(constant(1), e));
    const __m256 lesser = _mm256_mul_ps(e, greater);
    const __m256 du = _mm256_fmadd_ps(_mm256_min_ps(constant(900), square), constant(3 * kSlope * 0.044715f),
                                      constant(kSlope));
    return {_mm256_blendv_ps(greater, lesser, x), _mm256_mul_ps(du, _mm256_mul_ps(greater, lesser))};
}

// The sigmoid p and its slope p (1 - p), of |x| so that both p and 1 - p keep their digits.
inline Gate silu_gate(__m256 x) {
    const __m256 e = exp_of_negative(_mm256_or_ps(x, constant(-0.0f)));
    const __m256 greater = _mm256_div_ps(constant(1), _mm256_add_ps(constant(1), e));
    const __m256 lesser = _mm256_mul_ps(e, greater);
    return {_mm256_blendv_ps(greater, lesser, x), _mm256_mul_ps(greater, lesser)};
}

template <Pointwise activation>
Gate gate(__m256 x) {
    if constexpr (activation == Pointwise::kGeluExact)
        return gelu_exact_gate(x);
    else if constexpr (activation == Pointwise::kGeluTanh)
        return gelu_tanh_gate(x);
    else
        return silu_gate(x);
}

template <Pointwise activation>
__m256 activate(__m256 x) {
    if constexpr (activation == Pointwise::kIdentity)
        return x;
    else if constexpr (activation == Pointwise::kRelu)
        return _mm256_max_ps(_mm256_setzero_ps(), x);  // the second operand is the result when one is NaN
    else
        return _mm256_mul_ps(x, gate<activation>(x).share);
}

// The gradient of x from that of activate(x).
template <Pointwise activation>
__m256 through(__m256 gradient, __m256 x) {
    if constexpr (activation == Pointwise::kIdentity) {
        return gradient;
    } else if constexpr (activation == Pointwise::kRelu) {
        return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ), gradient);
    } else {
        const Gate g = gate<activation>(x);
        return _mm256_mul_ps(gradient, _mm256_fmadd_ps(x, g.slope, g.share));
    }
}

// body(constant) with the activation as a constant.
template <typename Body>
decltype(auto) with_activation(Pointwise activation, const Body& body) {
    using enum Pointwise;
    switch (activation) {
        case kRelu:
            return body(std::integral_constant<Pointwise, kRelu>{});
        case kGeluExact:
            return body(std::integral_constant<Pointwise, kGeluExact>{});
        case kGeluTanh:
            return body(std::integral_constant<Pointwise, kGeluTanh>{});
        case kSilu:
            return body(std::integral_constant<Pointwise, kSilu>{});
        default:
            return body(std::integral_constant<Pointwise, kIdentity>{});
    }
}

}  // namespace mpt::simd
