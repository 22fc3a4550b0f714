#include <immintrin.h>

#include <cstring>

#include "dataset/pictures/resize.h"

namespace mpt {
namespace {

__m256i load(const std::uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

__m256i pair_of(const std::int16_t* weights) {
    std::int32_t both = 0;
    std::memcpy(&both, weights, sizeof(both));
    return _mm256_set1_epi32(both);
}

// 32 values of a line.
void vertical_block(const std::uint8_t* at, std::int64_t stride, const std::int16_t* weights,
                    std::int64_t count, std::int16_t* line) {
    constexpr int kShift = kWeightBits - kLineBits;
    const __m256i zero = _mm256_setzero_si256();
    __m256i sums[4];
    for (__m256i& sum : sums) sum = _mm256_set1_epi32(1 << (kShift - 1));
    for (std::int64_t k = 0; k < count; k += 2, at += 2 * stride) {
        const __m256i weight = pair_of(weights + k);
        const __m256i even = load(at);
        const __m256i odd = k + 1 < count ? load(at + stride) : zero;
        const __m256i low = _mm256_unpacklo_epi8(even, odd), high = _mm256_unpackhi_epi8(even, odd);
        const __m256i words[4] = {_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                                  _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
        for (int i = 0; i < 4; ++i) sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(words[i], weight));
    }
    for (__m256i& sum : sums) sum = _mm256_srai_epi32(sum, kShift);
    const __m256i first = _mm256_packs_epi32(sums[0], sums[1]);   // 0..7, 16..23
    const __m256i second = _mm256_packs_epi32(sums[2], sums[3]);  // 8..15, 24..31
    auto* out = reinterpret_cast<__m256i*>(line);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(first, second, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(first, second, 0x31));
}

void vertical(const std::uint8_t* first_row, std::int64_t stride, const std::int16_t* weights,
              std::int64_t count, std::int64_t bytes, std::int16_t* line) {
    std::int64_t x = 0;
    for (; x + 32 <= bytes; x += 32) vertical_block(first_row + x, stride, weights, count, line + x);
    if (x == bytes) return;
    if (bytes >= 32) {  // the last block overlaps the one before
        vertical_block(first_row + bytes - 32, stride, weights, count, line + bytes - 32);
        return;
    }
    constexpr int kShift = kWeightBits - kLineBits;
    for (; x < bytes; ++x) {
        std::int32_t sum = 1 << (kShift - 1);
        for (std::int64_t k = 0; k < count; ++k) sum += weights[k] * first_row[k * stride + x];
        line[x] = static_cast<std::int16_t>(sum >> kShift);
    }
}

__m256i load_two(const std::int16_t* a, const std::int16_t* b) {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

// One 128-bit lane a row; a lane's four sums are red, green, blue and nothing.
void horizontal3(const std::int16_t* line0, const std::int16_t* line1, const ResizeTaps& taps,
                 std::uint8_t* out0, std::uint8_t* out1) {
    constexpr int kShift = kWeightBits + kLineBits;
    // r0 g0 b0 r1 g1 b1 .. .. into r0 r1 g0 g1 b0 b1
    const __m256i order =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1));
    const __m256i half = _mm256_set1_epi32(1 << (kShift - 1));
    const std::size_t outputs = taps.windows.size();
    for (std::size_t x = 0; x < outputs; ++x) {
        const std::int64_t first = std::int64_t{taps.windows[x].first} * 3;
        const std::int64_t count = taps.windows[x].count;
        const std::int16_t* weights = taps.weights_of(static_cast<std::int64_t>(x));
        __m256i sum = half;
        for (std::int64_t k = 0; k < count; k += 2) {
            const __m256i pixels = load_two(line0 + first + 3 * k, line1 + first + 3 * k);
            sum = _mm256_add_epi32(
                sum, _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, order), pair_of(weights + k)));
        }
        sum = _mm256_srai_epi32(sum, kShift);
        const __m256i words = _mm256_packs_epi32(sum, sum);
        const __m256i bytes = _mm256_packus_epi16(words, words);
        const int top = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
        const int bottom = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));
        std::memcpy(out0 + 3 * x, &top, 3);
        std::memcpy(out1 + 3 * x, &bottom, 3);
    }
}

}  // namespace

ResizeKernels resize_kernels_avx2() {
    return {vertical, horizontal3};
}

}  // namespace mpt
