// Tiles of `rows` by two vectors, of whatever vectors `Lanes` has. Included by matmul_tiles_avx*.cpp only.
#pragma once

#include <array>
#include <utility>

#include "backends/cpu/matmul_tiles.h"

namespace mpt::cpu::matmul_tiles {

template <typename Lanes, int rows, int a_row>
void run_tile(const TileArgs& t) {
    constexpr std::int64_t kCount = Lanes::kCount;
    typename Lanes::Vector low[rows], high[rows];
    // Unrolled before the compiler places the sums, or it keeps them in memory.
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
        const float* start = t.add ? t.c + r * t.c_row : t.start;
        low[r] = start == nullptr ? Lanes::zero() : Lanes::load(start);
        high[r] = start == nullptr ? Lanes::zero() : Lanes::load(start + kCount);
    }
    const float* a = t.a;
    const float* b = t.b;
    for (std::int64_t p = 0; p < t.k; ++p) {
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
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
        Lanes::store(t.c + r * t.c_row, low[r]);
        Lanes::store(t.c + r * t.c_row + kCount, high[r]);
    }
}

template <typename Lanes, int a_row, int... counts>
constexpr auto table(std::integer_sequence<int, counts...>) {
    using Run = void (*)(const TileArgs&);
    return std::array<Run, sizeof...(counts) + 1>{nullptr, run_tile<Lanes, counts + 1, a_row>...};
}

}  // namespace mpt::cpu::matmul_tiles
