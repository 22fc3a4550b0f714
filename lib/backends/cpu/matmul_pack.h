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
};

// from[p * stride + i] -> panel[p][i].
template <Pointwise activation, typename T>
void pack_rows(const T* from, std::int64_t stride, const Panel& panel) {
    for (std::int64_t p = 0; p < panel.k; ++p) {
        const T* source = from + p * stride;
        float* to = panel.data + p * panel.row;
        std::int64_t i = 0;
        for (; i + simd::kLanes <= panel.width; i += simd::kLanes)
            _mm256_storeu_ps(to + i, simd::activate<activation>(simd::load(source + i, simd::Full{})));
        for (; i < panel.row; i += simd::kLanes) {
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
    for (std::int64_t i = 0; i < panel.row; i += simd::kLanes) {
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

}  // namespace mpt::cpu::matmul_pack
