// What attention's CPU kernels are made of: f32 tiles in the nearest caches and products of them. For
// *_cpu.cpp files only.
#pragma once

#include <algorithm>

#include "backends/cpu/transpose.h"
#include "ops/attention/attention.h"
#include "ops/dropout/dropout_mask.h"
#include "ops/simd_kernel.h"

namespace mpt::attention_tiles {

inline constexpr std::int64_t kQueries = 24;  // rows of a tile of scores: four steps of the product
inline constexpr std::int64_t kKeys = 64;     // its columns
inline constexpr std::int64_t kColumns = 16;  // of a step of the product: two vectors
inline constexpr int kRows = 6;               // of a step: 12 of the 16 registers are sums

constexpr std::int64_t padded(std::int64_t columns) {
    return (columns + kColumns - 1) / kColumns * kColumns;
}

// Element (i, p) of the left factor is data[i * row + p * step]: both a matrix and its transpose.
struct Left {
    const float* data;
    std::int64_t row, step;
};
struct Matrix {
    float* data;
    std::int64_t row;  // elements from one row to the next
};
struct ProductSize {
    std::int64_t m, n, k;
};
enum class Into { kSet, kAdd };

// Unrolled before the compiler places the sums, or it keeps them in memory.
template <int rows, Into into>
void product_step(const Left& a, const float* b, std::int64_t b_row, const Matrix& c, std::int64_t k) {
    __m256 low[rows], high[rows];
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
        low[r] = into == Into::kAdd ? _mm256_loadu_ps(c.data + r * c.row) : _mm256_setzero_ps();
        high[r] =
            into == Into::kAdd ? _mm256_loadu_ps(c.data + r * c.row + simd::kLanes) : _mm256_setzero_ps();
    }
    // Two pointers that move reach six rows by what an address can hold: row times 0, 1 and 2.
    const float* upper = a.data;
    const float* lower = a.data + 3 * a.row;
    for (std::int64_t p = 0; p < k; ++p) {
        const __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + simd::kLanes);
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) {
            const __m256 value = _mm256_broadcast_ss(r < 3 ? upper + r * a.row : lower + (r - 3) * a.row);
            low[r] = _mm256_fmadd_ps(value, b0, low[r]);
            high[r] = _mm256_fmadd_ps(value, b1, high[r]);
        }
        upper += a.step;
        lower += a.step;
        b += b_row;
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
        _mm256_storeu_ps(c.data + r * c.row, low[r]);
        _mm256_storeu_ps(c.data + r * c.row + simd::kLanes, high[r]);
    }
}

template <Into into>
void last_step(std::int64_t rows, const Left& a, const float* b, std::int64_t b_row, const Matrix& c,
               std::int64_t k) {
    switch (rows) {
        case 1:
            return product_step<1, into>(a, b, b_row, c, k);
        case 2:
            return product_step<2, into>(a, b, b_row, c, k);
        case 3:
            return product_step<3, into>(a, b, b_row, c, k);
        case 4:
            return product_step<4, into>(a, b, b_row, c, k);
        case 5:
            return product_step<5, into>(a, b, b_row, c, k);
        default:
            return;
    }
}

// c[m,n] = or += a[m,k] b[k,n]; n is a multiple of kColumns. Sums run over k in order.
template <Into into>
void product(const ProductSize& size, const Left& a, const float* b, std::int64_t b_row, const Matrix& c) {
    for (std::int64_t j = 0; j < size.n; j += kColumns) {
        std::int64_t i = 0;
        for (; i + kRows <= size.m; i += kRows)
            product_step<kRows, into>({a.data + i * a.row, a.row, a.step}, b + j, b_row,
                                      {c.data + i * c.row + j, c.row}, size.k);
        last_step<into>(size.m - i, {a.data + i * a.row, a.row, a.step}, b + j, b_row,
                        {c.data + i * c.row + j, c.row}, size.k);
    }
}
inline void product(Into into, const ProductSize& size, const Left& a, const float* b, std::int64_t b_row,
                    const Matrix& c) {
    if (into == Into::kAdd)
        product<Into::kAdd>(size, a, b, b_row, c);
    else
        product<Into::kSet>(size, a, b, b_row, c);
}

// One head's rows in memory [.., H, D].
template <typename T>
struct Rows {
    T* data;
    std::int64_t row;  // elements from one row to the next
    T* at(std::int64_t index) const { return data + index * row; }
    Rows from(std::int64_t index) const { return {at(index), row}; }
};

// A tensor and what part of it is meant.
inline constexpr AttentionLayout::Place kWhole = {0, 0, 1};
template <typename T>
struct Tensor {
    T* data;
    AttentionLayout::Place place;
    // Of a head, `count` of them a batch.
    Rows<T> rows(const AttentionExtent& e, std::int64_t count, std::int64_t b, std::int64_t h) const {
        return {data + e.first_row(place, count, b, h), e.row(place)};
    }
};

// Asks for the rows of share `part` of `parts`: rows lie far apart, and a head's work is long enough for the
// next head's rows to come. Inlined, or g++ 12 takes a call that only prefetches for one without effect.
template <typename T>
[[gnu::always_inline]] inline void prefetch_rows(const Rows<const T>& rows, std::int64_t count,
                                                 std::int64_t size, std::int64_t part, std::int64_t parts) {
    const auto bytes = size * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t r = count * part / parts; r < count * (part + 1) / parts; ++r) {
        const char* row = reinterpret_cast<const char*>(rows.at(r));
        for (std::int64_t at = 0; at < bytes; at += 64) _mm_prefetch(row + at, _MM_HINT_T1);
    }
}

// to[count][padded(size)] = factor * from, zero beyond `size`.
template <typename T>
void pack_rows(const Rows<const T>& from, std::int64_t count, std::int64_t size, float factor, float* to) {
    const __m256 scale = _mm256_set1_ps(factor);
    for (std::int64_t r = 0; r < count; ++r, to += padded(size)) {
        simd::for_lanes(0, size, [&](std::int64_t i, auto lanes) {
            simd::store(to + i, _mm256_mul_ps(simd::load(from.at(r) + i, lanes), scale), lanes);
        });
        std::fill(to + size, to + padded(size), 0.0f);
    }
}

// from = factor * what pack_rows would make of it.
template <typename T>
void unpack_rows(const float* from, std::int64_t count, std::int64_t size, float factor, const Rows<T>& to) {
    const __m256 scale = _mm256_set1_ps(factor);
    for (std::int64_t r = 0; r < count; ++r, from += padded(size))
        simd::for_lanes(0, size, [&](std::int64_t i, auto lanes) {
            simd::store(to.at(r) + i, _mm256_mul_ps(simd::load(from + i, lanes), scale), lanes);
        });
}

// Tiles of kKeys rows, each transposed to [size][kKeys]; rows from `count` on are zero.
template <typename T>
void pack_transposed(const Rows<const T>& from, std::int64_t count, std::int64_t size, float* to) {
    for (std::int64_t first = 0; first < count; first += simd::kLanes) {
        float* columns = to + first / kKeys * kKeys * size + first % kKeys;
        simd::for_lanes(0, size, [&](std::int64_t d, auto lanes) {
            __m256 v[simd::kLanes];
            for (int r = 0; r < simd::kLanes; ++r)
                v[r] = first + r < count ? simd::load(from.at(first + r) + d, lanes) : _mm256_setzero_ps();
            simd::transpose(v);
            for (std::int64_t i = 0; i < std::min<std::int64_t>(simd::kLanes, size - d); ++i)
                _mm256_storeu_ps(columns + (d + i) * kKeys, v[i]);
        });
    }
    // The product reads whole steps of columns.
    const std::int64_t filled = (count + simd::kLanes - 1) / simd::kLanes * simd::kLanes;
    if (filled % kKeys == 0) return;
    float* tile = to + filled / kKeys * kKeys * size;
    for (std::int64_t d = 0; d < size; ++d)
        std::fill(tile + d * kKeys + filled % kKeys, tile + (d + 1) * kKeys, 0.0f);
}

// Drops some of a row of a tile, whose number `first` starts a group; the row is kKeys long, of which the
// first `seen` matter.
inline void drop_row(const dropout_mask::Mask& mask, std::int64_t first, float* row, std::int64_t seen) {
    static_assert(kKeys % dropout_mask::kGroup == 0);
    for (std::int64_t j = 0; j < seen; j += dropout_mask::kGroup) {
        const dropout_mask::Words words =
            dropout_mask::draw(mask.numbers, (first + j) / dropout_mask::kGroup);
        for (int w = 0; w < 4; ++w) {
            float* at = row + j + w * simd::kLanes;
            _mm256_storeu_ps(at, mask.apply(_mm256_loadu_ps(at), words.word[w]));
        }
    }
}

constexpr std::int64_t num_tile_keys(std::int64_t keys) {
    return (keys + kKeys - 1) / kKeys * kKeys;
}

// The greatest lane and the sum of lanes, pairwise.
inline float greatest_lane(__m256 v) {
    __m128 w = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    w = _mm_max_ps(w, _mm_movehl_ps(w, w));
    return _mm_cvtss_f32(_mm_max_ss(w, _mm_movehdup_ps(w)));
}
inline float sum_of_lanes(__m256 v) {
    __m128 w = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    w = _mm_add_ps(w, _mm_movehl_ps(w, w));
    return _mm_cvtss_f32(_mm_add_ss(w, _mm_movehdup_ps(w)));
}

inline __m256 only(__m256 v, simd::Full, __m256) {
    return v;
}
// Other lanes are `rest`.
inline __m256 only(__m256 v, simd::Some lanes, __m256 rest) {
    return _mm256_blendv_ps(rest, v, _mm256_castsi256_ps(simd::mask_of(lanes)));
}

}  // namespace mpt::attention_tiles
