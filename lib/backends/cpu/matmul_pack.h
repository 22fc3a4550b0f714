// Packing of operands into f32 panels: [k][row] with `width` columns of the operand in each row of a panel,
// the rest of the row zero. For files compiled for AVX2 only.
#pragma once

#include <algorithm>

#include "backends/cpu/activations.h"
#include "backends/cpu/transpose.h"

namespace mpt::cpu::matmul_pack {

struct Panel {
    float* data;
    std::int64_t row;    // a multiple of 8
    std::int64_t width;  // at most row
    std::int64_t k;
    std::int64_t first, last;  // the columns to write: multiples of 8, last as far as row
};

// from[p * stride + i] -> panel[p][i].
template <Pointwise activation, typename T>
void pack_rows(const T* from, std::int64_t stride, const Panel& panel) {
    for (std::int64_t p = 0; p < panel.k; ++p) {
        const T* source = from + p * stride;
        float* to = panel.data + p * panel.row;
        std::int64_t i = panel.first;
        for (; i + simd::kLanes <= std::min(panel.width, panel.last); i += simd::kLanes)
            _mm256_storeu_ps(to + i, simd::activate<activation>(simd::load(source + i, simd::Full{})));
        for (; i < panel.last; i += simd::kLanes) {
            const auto rest = static_cast<int>(std::max<std::int64_t>(0, panel.width - i));
            _mm256_storeu_ps(
                to + i, rest == 0 ? _mm256_setzero_ps()
                                  : simd::activate<activation>(simd::load(source + i, simd::Some{rest})));
        }
    }
}

// Eight columns of the panel from eight rows of the operand, of which `count` exist.
template <Pointwise activation, typename T, typename Lanes>
void pack_square(const T* from, std::int64_t stride, std::int64_t count, float* to, std::int64_t row,
                 std::int64_t depth, Lanes lanes) {
    __m256 v[simd::kLanes];
    for (std::int64_t r = 0; r < simd::kLanes; ++r)
        v[r] = r < count ? simd::activate<activation>(simd::load(from + r * stride, lanes))
                         : _mm256_setzero_ps();
    simd::transpose(v);
    for (std::int64_t i = 0; i < depth; ++i) _mm256_storeu_ps(to + i * row, v[i]);
}

// from[i * stride + p] -> panel[p][i].
template <Pointwise activation, typename T>
void pack_columns(const T* from, std::int64_t stride, const Panel& panel) {
    for (std::int64_t i = panel.first; i < panel.last; i += simd::kLanes) {
        const std::int64_t count = std::clamp<std::int64_t>(panel.width - i, 0, simd::kLanes);
        const T* rows = from + i * stride;
        float* to = panel.data + i;
        std::int64_t p = 0;
        if (count == simd::kLanes) {
            for (; p + simd::kLanes <= panel.k; p += simd::kLanes)
                pack_square<activation>(rows + p, stride, simd::kLanes, to + p * panel.row, panel.row,
                                        simd::kLanes, simd::Full{});
        } else {
            for (; p + simd::kLanes <= panel.k; p += simd::kLanes)
                pack_square<activation>(rows + p, stride, count, to + p * panel.row, panel.row, simd::kLanes,
                                        simd::Full{});
        }
        if (p < panel.k)
            pack_square<activation>(rows + p, stride, count, to + p * panel.row, panel.row, panel.k - p,
                                    simd::Some{static_cast<int>(panel.k - p)});
    }
}

// Eight bf16 after the activation, rounded again.
template <Pointwise activation>
__m128i activated_bits(__m128i bits) {
    if constexpr (activation == Pointwise::kIdentity)
        return bits;
    else
        return simd::narrow_bf16(simd::activate<activation>(simd::widen_bf16(bits)));
}

// The first `count` of eight bf16, the others zero.
inline __m128i first_bits(const bf16* from, std::int64_t count) {
    if (count >= simd::kLanes) return simd::load_bits(from, simd::Full{});
    if (count <= 0) return _mm_setzero_si128();
    return simd::load_bits(from, simd::Some{static_cast<int>(count)});
}

// As pack_rows with pairs of rows in an element; `rows` of the operand are left, perhaps an odd number.
template <Pointwise activation>
void pack_row_pairs(const bf16* from, std::int64_t stride, std::int64_t rows, const Panel& panel) {
    for (std::int64_t p = 0; p < panel.k; ++p) {
        const bf16* source = from + 2 * p * stride;
        const bool both = 2 * p + 1 < rows;
        for (std::int64_t i = panel.first; i < panel.last; i += simd::kLanes) {
            const std::int64_t count = panel.width - i;
            const __m128i low = activated_bits<activation>(first_bits(source + i, count));
            const __m128i high =
                activated_bits<activation>(first_bits(source + stride + i, both ? count : 0));
            const __m256i pairs = _mm256_or_si256(_mm256_cvtepu16_epi32(low),
                                                  _mm256_slli_epi32(_mm256_cvtepu16_epi32(high), 16));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(panel.data + p * panel.row + i), pairs);
        }
    }
}

// As pack_columns with pairs of columns in an element; `columns` of the operand are left.
template <Pointwise activation>
void pack_column_pairs(const bf16* from, std::int64_t stride, std::int64_t columns, const Panel& panel) {
    for (std::int64_t i = panel.first; i < panel.last; i += simd::kLanes)
        for (std::int64_t p = 0; p < panel.k; p += simd::kLanes) {
            __m256 v[simd::kLanes];
            for (std::int64_t r = 0; r < simd::kLanes; ++r) {
                const bf16* source = from + (i + r) * stride + 2 * p;
                const std::int64_t count = i + r < panel.width ? columns - 2 * p : 0;
                const __m128i low = activated_bits<activation>(first_bits(source, count));
                const __m128i high =
                    activated_bits<activation>(first_bits(source + simd::kLanes, count - simd::kLanes));
                v[r] = _mm256_castsi256_ps(_mm256_set_m128i(high, low));
            }
            simd::transpose(v);
            for (std::int64_t d = 0; d < std::min<std::int64_t>(simd::kLanes, panel.k - p); ++d)
                _mm256_storeu_ps(panel.data + (p + d) * panel.row + i, v[d]);
        }
}

}  // namespace mpt::cpu::matmul_pack
