// Eight f32 lanes. Included only by files compiled for AVX2.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace mpt::cpu {

struct LanesAvx2 {
    static constexpr std::ptrdiff_t kCount = 8;
    __m256 v;

    static LanesAvx2 zero() { return {_mm256_setzero_ps()}; }
    static LanesAvx2 load(const float* p) { return {_mm256_loadu_ps(p)}; }
    static LanesAvx2 load_f16(const std::uint16_t* p) {
        return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
    }
    static LanesAvx2 load_bf16(const std::uint16_t* p) {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
    }
    // Stream: past the caches; the address must be aligned to the vector.
    template <bool Stream = false>
    void store(float* p) const {
        if (Stream)
            _mm256_stream_ps(p, v);
        else
            _mm256_storeu_ps(p, v);
    }
    template <bool Stream>
    static void store_narrow(std::uint16_t* p, __m128i bits) {
        if (Stream)
            _mm_stream_si128(reinterpret_cast<__m128i*>(p), bits);
        else
            _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bits);
    }
    // The narrow stores hand back the rounded value.
    template <bool Stream = false>
    LanesAvx2 store_f16(std::uint16_t* p) const {
        const __m128i bits = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
        store_narrow<Stream>(p, bits);
        return {_mm256_cvtph_ps(bits)};
    }
    template <bool Stream = false>
    LanesAvx2 store_bf16(std::uint16_t* p) const {
        const __m256i x = _mm256_castps_si256(v);
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(x, 16), _mm256_set1_epi32(1));
        const __m256i up = _mm256_add_epi32(x, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
        const __m256i quiet = _mm256_or_si256(x, _mm256_set1_epi32(0x400000));
        const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0x08);
        store_narrow<Stream>(p, _mm256_castsi256_si128(packed));
        return {_mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
    }
    static LanesAvx2 fma(LanesAvx2 a, LanesAvx2 b, LanesAvx2 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
    LanesAvx2 operator+(LanesAvx2 o) const { return {_mm256_add_ps(v, o.v)}; }
    LanesAvx2 operator-(LanesAvx2 o) const { return {_mm256_sub_ps(v, o.v)}; }
    LanesAvx2 times(float by) const { return {_mm256_mul_ps(v, _mm256_set1_ps(by))}; }
    // NaN stays NaN, as in the plain definition x < 0 ? 0 : x.
    LanesAvx2 relu() const { return {_mm256_max_ps(_mm256_setzero_ps(), v)}; }
    LanesAvx2 where_positive(LanesAvx2 m) const {
        return {_mm256_and_ps(v, _mm256_cmp_ps(m.v, _mm256_setzero_ps(), _CMP_GT_OQ))};
    }
};

}  // namespace mpt::cpu
