// Eight lanes of f32 from and to f32, f16 or bf16 memory. For *_cpu.cpp files only: they are compiled for
// AVX2, FMA and F16C and must be entered only after instruction_set() has been asked.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/error.h"
#include "core/float_formats.h"

namespace mpt::simd {

inline constexpr int kLanes = 8;

// How many lanes an access touches: all, or the first few at the end of an array.
struct Full {};
struct Some {
    int count;  // 1..7
};

inline __m256i mask_of(Some lanes) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes.count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline __m256 widen_f16(__m128i bits) {
    return _mm256_cvtph_ps(bits);
}
inline __m256 widen_bf16(__m128i bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
// F16C keeps a NaN's payload and makes it quiet, as f16_bits does.
inline __m128i narrow_f16(__m256 v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
// Nearest even by adding just under half, and one more when the kept part is odd; a NaN is cut and made
// quiet.
inline __m128i narrow_bf16(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i wide = _mm256_blendv_epi8(rounded, quiet, is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
}

template <typename T>
__m128i load_bits(const T* from, Full) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
template <typename T>
__m128i load_bits(const T* from, Some lanes) {
    __m128i bits = _mm_setzero_si128();
    std::memcpy(&bits, from, static_cast<std::size_t>(lanes.count) * sizeof(T));
    return bits;
}
template <typename T>
void store_bits(T* to, __m128i bits, Full) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bits);
}
template <typename T>
void store_bits(T* to, __m128i bits, Some lanes) {
    std::memcpy(static_cast<void*>(to), &bits, static_cast<std::size_t>(lanes.count) * sizeof(T));
}

// Lanes that are not touched load as 0.
inline __m256 load(const float* from, Full) {
    return _mm256_loadu_ps(from);
}
inline __m256 load(const float* from, Some lanes) {
    return _mm256_maskload_ps(from, mask_of(lanes));
}
template <typename Lanes>
__m256 load(const f16* from, Lanes lanes) {
    return widen_f16(load_bits(from, lanes));
}
template <typename Lanes>
__m256 load(const bf16* from, Lanes lanes) {
    return widen_bf16(load_bits(from, lanes));
}

inline void store(float* to, __m256 v, Full) {
    _mm256_storeu_ps(to, v);
}
inline void store(float* to, __m256 v, Some lanes) {
    _mm256_maskstore_ps(to, mask_of(lanes), v);
}
template <typename Lanes>
void store(f16* to, __m256 v, Lanes lanes) {
    store_bits(to, narrow_f16(v), lanes);
}
template <typename Lanes>
void store(bf16* to, __m256 v, Lanes lanes) {
    store_bits(to, narrow_bf16(v), lanes);
}

// Bytes as numbers, and the low byte of each lane.
inline __m256i load_bytes(const std::uint8_t* from, Full) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
inline __m256i load_bytes(const std::uint8_t* from, Some lanes) {
    return _mm256_cvtepu8_epi32(load_bits(from, lanes));
}
inline __m128i pack_bytes(__m256i v) {
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return _mm_packus_epi16(words, words);
}
inline void store_bytes(std::uint8_t* to, __m256i v, Full) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), pack_bytes(v));
}
inline void store_bytes(std::uint8_t* to, __m256i v, Some lanes) {
    store_bits(to, pack_bytes(v), lanes);
}

// body(i, lanes) over [begin, end): whole vectors, then the rest.
template <typename Body>
void for_lanes(std::int64_t begin, std::int64_t end, const Body& body) {
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) body(i, Full{});
    if (i < end) body(i, Some{static_cast<int>(end - i)});
}

// In f64, lane by lane from the left.
inline double sum_of(__m256 v) {
    alignas(32) float lane[kLanes];
    _mm256_store_ps(lane, v);
    double sum = 0;
    for (const float x : lane) sum += static_cast<double>(x);
    return sum;
}

// Adds the lanes to 8 (or fewer) f64 sums.
inline void add_to(double* sums, __m256 v, Full) {
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
    _mm256_storeu_pd(sums + 4, _mm256_add_pd(_mm256_loadu_pd(sums + 4), high));
}
inline void add_to(double* sums, __m256 v, Some lanes) {
    alignas(32) float lane[kLanes];
    _mm256_store_ps(lane, v);
    for (int i = 0; i < lanes.count; ++i) sums[i] += static_cast<double>(lane[i]);
}

// e^x for x that is not far above 0, in fewer steps than exp: under -87.33 it is 1.2e-38. NaN stays.
inline __m256 exp_below(__m256 x) {
    const __m256 bounded = _mm256_max_ps(_mm256_set1_ps(-87.33f), x);  // the second operand when one is NaN
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(bounded, _mm256_set1_ps(1.44269504f)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // ln 2 in two parts, the first with few bits, so that n times it is exact.
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), bounded);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.0f / 5040);
    for (const float coefficient : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
        p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(coefficient));
    // p lies between 0.7 and 1.5, and 2^n p is a normal number: n goes straight to the exponent.
    const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
}

// e^x for x that is not above 0; NaN stays.
inline __m256 exp_of_negative(__m256 x) {
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(-87.33f), _CMP_LT_OQ), exp_below(x));
}

// 2^x for x that is not above 0; NaN stays. x = n + r with |r| <= 1/2; the polynomial in r, which is 1 at 0,
// meets 2^r in Chebyshev's nodes: its relative error is under 5e-9.
inline __m256 exp2_of_negative(__m256 x) {
    const __m256 least = _mm256_set1_ps(-126.0f);
    const __m256 bounded = _mm256_max_ps(least, x);  // the second operand when one is NaN
    const __m256 n = _mm256_round_ps(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 r = _mm256_sub_ps(bounded, n);
    __m256 p = _mm256_set1_ps(1.545316294512069e-4f);
    for (const float coefficient : {1.3390863364671234e-3f, 9.618082557277852e-3f, 5.550357114219078e-2f,
                                    0.24022650760568126f, 0.6931471880262288f, 1.0f})
        p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(coefficient));
    const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    const __m256 y = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, least, _CMP_LT_OQ), y);
}

// e^x: x = n ln 2 + r with |r| <= ln 2 / 2, then the Taylor series of e^r to r^7 (its rest is under 6e-9)
// times 2^n. 0 below -87.33 (the least normal f32), infinity above 88.37 (2^127.5), NaN of NaN.
inline __m256 exp(__m256 x) {
    const __m256 y = exp_of_negative(_mm256_min_ps(_mm256_set1_ps(88.37f), x));
    const __m256 infinity = _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000));
    return _mm256_blendv_ps(y, infinity, _mm256_cmp_ps(x, _mm256_set1_ps(88.37f), _CMP_GT_OQ));
}

// body(T{}) with the storage type of `type`.
template <typename Body>
decltype(auto) with_storage(DType type, const Body& body) {
    switch (type) {
        case DType::f32:
            return body(float{});
        case DType::f16:
            return body(f16{});
        default:
            MPT_CHECK(type == DType::bf16, "no storage type of the fast kernels");
            return body(bf16{});
    }
}

}  // namespace mpt::simd
