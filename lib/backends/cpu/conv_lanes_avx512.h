// Sixteen f32 lanes. Included only by files compiled for AVX-512.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace mpt::cpu {

struct LanesAvx512 {
    static constexpr std::ptrdiff_t kCount = 16;
    __m512 v;

    static LanesAvx512 zero() { return {_mm512_setzero_ps()}; }
    static LanesAvx512 load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static LanesAvx512 load_f16(const std::uint16_t* p) {
        return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
    }
    static LanesAvx512 load_bf16(const std::uint16_t* p) {
        const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
    }
    // Stream: past the caches; the address must be aligned to the vector.
    template <bool Stream = false>
    void store(float* p) const {
        if (Stream)
            _mm512_stream_ps(p, v);
        else
            _mm512_storeu_ps(p, v);
    }
    template <bool Stream>
    static void store_narrow(std::uint16_t* p, __m256i bits) {
        if (Stream)
            _mm256_stream_si256(reinterpret_cast<__m256i*>(p), bits);
        else
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bits);
    }
    // The narrow stores hand back the rounded value.
    template <bool Stream = false>
    LanesAvx512 store_f16(std::uint16_t* p) const {
        const __m256i bits = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
        store_narrow<Stream>(p, bits);
        return {_mm512_cvtph_ps(bits)};
    }
    template <bool Stream = false>
    LanesAvx512 store_bf16(std::uint16_t* p) const {
        const __m512i x = _mm512_castps_si512(v);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
        const __m512i up = _mm512_add_epi32(x, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        const __m512i quiet = _mm512_or_si512(x, _mm512_set1_epi32(0x400000));
        const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
        const __m512i high = _mm512_srli_epi32(_mm512_mask_mov_epi32(up, nan, quiet), 16);
        store_narrow<Stream>(p, _mm512_cvtepi32_epi16(high));
        return {_mm512_castsi512_ps(_mm512_slli_epi32(high, 16))};
    }
    static LanesAvx512 fma(LanesAvx512 a, LanesAvx512 b, LanesAvx512 c) {
        return {_mm512_fmadd_ps(a.v, b.v, c.v)};
    }
    LanesAvx512 operator+(LanesAvx512 o) const { return {_mm512_add_ps(v, o.v)}; }
    LanesAvx512 operator-(LanesAvx512 o) const { return {_mm512_sub_ps(v, o.v)}; }
    LanesAvx512 times(float by) const { return {_mm512_mul_ps(v, _mm512_set1_ps(by))}; }
    // NaN stays NaN, as in the plain definition x < 0 ? 0 : x.
    LanesAvx512 relu() const { return {_mm512_max_ps(_mm512_setzero_ps(), v)}; }
    LanesAvx512 where_positive(LanesAvx512 m) const {
        return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(m.v, _mm512_setzero_ps(), _CMP_GT_OQ), v)};
    }
};

}  // namespace mpt::cpu
