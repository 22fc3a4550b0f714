// Tiles of `rows` by two vectors, of whatever vectors `Lanes` has. Included by matmul_tiles_avx*.cpp only.
#pragma once

#include <immintrin.h>

#include <array>
#include <utility>

#include "backends/cpu/matmul_tiles.h"

namespace mpt::cpu::matmul_tiles {

// Inlined, or g++ 12 takes a call that only prefetches for one without effect.
[[gnu::always_inline]] inline void come_near(const char* line) {
    _mm_prefetch(line, _MM_HINT_T0);
}

template <typename Lanes, int rows, int a_row>
void run_tile(const TileArgs& t) {
    constexpr std::int64_t kCount = Lanes::kCount;
    constexpr std::int64_t kGroup = 16;  // rows of panels between prefetches
    typename Lanes::Vector low[rows], high[rows];
    // Unrolled before the compiler places the sums, or it keeps them in memory.
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
        low[r] = t.start == nullptr ? Lanes::zero() : Lanes::load(t.start);
        high[r] = t.start == nullptr ? Lanes::zero() : Lanes::load(t.start + kCount);
    }
    const float* a = t.a;
    const float* b = t.b;
    const auto multiply = [&](std::int64_t count) {
        for (std::int64_t p = 0; p < count; ++p) {
            const auto b0 = Lanes::load(b), b1 = Lanes::load(b + kCount);
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r) {
                const auto value = Lanes::all(a[r]);
                low[r] = Lanes::fma(value, b0, low[r]);
                high[r] = Lanes::fma(value, b1, high[r]);
            }
            a += a_row;
            b += 2 * kCount;
        }
    };
    const char* ahead = t.ahead;
    std::int64_t left = t.k;
    int soon = 0;
    const auto come_soon = [&](const TileArgs::Rows& those) {
        if (those.data == nullptr) return;
        come_near(those.data + soon * those.row);
        come_near(those.data + soon * those.row + 64);
    };
    for (; left >= kGroup; left -= kGroup) {
        for (int i = 0; i < 2 && soon < rows; ++i, ++soon) {
            come_soon(t.soon[0]);
            come_soon(t.soon[1]);
        }
        if (ahead != nullptr) {
            for (const std::int64_t line : t.ahead_lines) come_near(ahead + line);
            ahead += t.ahead_step;
        }
        multiply(kGroup);
    }
    multiply(left);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
        float* c = t.c + r * t.c_row;
        if (t.add) {
            Lanes::store(c, Lanes::add(Lanes::load(c), low[r]));
            Lanes::store(c + kCount, Lanes::add(Lanes::load(c + kCount), high[r]));
        } else {
            Lanes::store(c, low[r]);
            Lanes::store(c + kCount, high[r]);
        }
    }
}

template <typename Lanes, int a_row, int... counts>
constexpr auto table(std::integer_sequence<int, counts...>) {
    using Run = void (*)(const TileArgs&);
    return std::array<Run, sizeof...(counts) + 1>{nullptr, run_tile<Lanes, counts + 1, a_row>...};
}

}  // namespace mpt::cpu::matmul_tiles
