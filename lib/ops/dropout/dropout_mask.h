// The numbers of dropout.h eight at a time. For *_cpu.cpp files only.
#pragma once

#include "backends/cpu/simd.h"
#include "ops/dropout/dropout.h"

namespace mpt::dropout_mask {

inline constexpr std::int64_t kGroup = 32;  // elements that eight blocks serve

// High and low halves of eight 32-bit products.
struct Products {
    __m256i high, low;
};
inline Products product(__m256i a, __m256i factor) {
    const __m256i even = _mm256_mul_epu32(a, factor);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
    return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa),
            _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa)};
}

inline __m256i constant(std::uint64_t value) {
    return _mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(value)));
}

// Numbers of a group: lane l of word w is element 8 w + l. The blocks of a group are eight counters in a row,
// so that only their lowest three bits differ.
struct Words {
    __m256i word[4];
};
inline Words draw(const DropoutNumbers& numbers, std::int64_t group) {
    const std::uint64_t first = static_cast<std::uint64_t>(group) * 8;
    __m256i c[4] = {_mm256_add_epi32(constant(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                    constant(first >> 32), constant(numbers.counter_high),
                    constant(numbers.counter_high >> 32)};
    std::uint32_t k0 = static_cast<std::uint32_t>(numbers.key);
    std::uint32_t k1 = static_cast<std::uint32_t>(numbers.key >> 32);
    for (int round = 0; round < 10; ++round) {
        const Products p0 = product(c[0], constant(0xD2511F53u)), p1 = product(c[2], constant(0xCD9E8D57u));
        c[0] = _mm256_xor_si256(_mm256_xor_si256(p1.high, c[1]), constant(k0));
        c[2] = _mm256_xor_si256(_mm256_xor_si256(p0.high, c[3]), constant(k1));
        c[1] = p1.low;
        c[3] = p0.low;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c[0], c[1], c[2], c[3]}};
}

struct Mask {
    DropoutNumbers numbers;
    __m256i threshold;  // with the highest bit turned, as comparisons are signed
    __m256 scale;

    Mask(const DropoutAttributes& a, std::int32_t step)
        : numbers(a, step),
          threshold(constant(dropout_threshold(a) ^ 0x80000000u)),
          scale(_mm256_set1_ps(static_cast<float>(1 / (1 - a.probability)))) {}

    // The values of x that stay, scaled; a dropped one is 0 even if it is NaN or infinite.
    __m256 apply(__m256 x, __m256i word) const {
        const __m256i turned = _mm256_xor_si256(word, constant(0x80000000u));
        const __m256i dropped = _mm256_cmpgt_epi32(threshold, turned);
        return _mm256_andnot_ps(_mm256_castsi256_ps(dropped), _mm256_mul_ps(x, scale));
    }
};

}  // namespace mpt::dropout_mask
