// A square of eight vectors of eight lanes. For files compiled for AVX2 only.
#pragma once

#include <immintrin.h>

namespace mpt::simd {

inline void transpose(__m256 (&v)[8]) {
    __m256 pairs[8], fours[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int half = 0; half < 2; ++half) {
            fours[i + 2 * half] = _mm256_shuffle_ps(pairs[i + half], pairs[i + half + 2], 0x44);
            fours[i + 2 * half + 1] = _mm256_shuffle_ps(pairs[i + half], pairs[i + half + 2], 0xee);
        }
    for (int i = 0; i < 4; ++i) {
        v[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
    }
}

}  // namespace mpt::simd
