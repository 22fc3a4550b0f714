// How a product is cut into parts of threads, blocks for the caches and panels. For files compiled for AVX2
// only.
#pragma once

#include <unistd.h>

#include <algorithm>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/matmul.h"
#include "backends/cpu/matmul_team.h"
#include "backends/cpu/matmul_tiles.h"

namespace mpt::cpu::matmul_cut {

inline constexpr std::int64_t kMostDepth = 768;   // of a block, so that a panel stays in the second cache
inline constexpr std::int64_t kLeastDepth = 256;  // that pays for keeping all of a in the second cache
inline constexpr std::int64_t kBytesOfB = 4 * 1024 * 1024;  // of a block of b: in the last cache
inline constexpr double kFlopsOfThread = 1 << 19;           // less does not pay for waking one
inline constexpr std::int64_t kPanelsOfTeam = 8;            // fewer do not pay for sharing them

// Of a block of a: half of the second cache. 1 MiB where the system does not tell its size.
inline std::int64_t bytes_of_a() {
    static const std::int64_t bytes = [] {
        const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
        return (size > 0 ? static_cast<std::int64_t>(size) : 1 << 20) / 2;
    }();
    return bytes;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
constexpr std::int64_t in_lines(std::int64_t floats) {
    return ceil_div(floats, 16) * 16;
}

inline const TileSet& tiles_for(const MatmulSpec& s) {
    if (s.a.dtype == DType::bf16 && s.b.dtype == DType::bf16 && has_bf16_products())
        return tiles_bf16_avx512();
    return instruction_set() == InstructionSet::kAvx512 ? tiles_avx512() : tiles_avx2();
}

// What two threads that are neighbours in the grid share: panels of b where each reads a whole, else panels
// of a.
enum class Team { kNone, kColumns, kRows };

// How a product is cut: a grid of threads over c, and each thread's or team's part into blocks.
struct Cut {
    const TileSet& tiles;
    int grid_m = 1, grid_n = 1;
    std::int64_t elements_k = 0;        // of a panel
    std::int64_t num_k = 1, depth = 0;  // blocks of them, and the greatest
    std::int64_t block_m = 0;           // most panels of a in a block
    std::int64_t block_n = 0;           // most panels of b
    std::int64_t kept_n = 0;            // of them packed at a time
    bool direct = true;                 // sums go straight to c
    Team team = Team::kNone;
    std::int64_t rounds = 0;                       // of a team
    std::int64_t a_floats = 0, b_floats = 0;       // of a thread
    std::int64_t sums_floats = 0, team_words = 0;  // of a part, which is a thread's or a team's

    Cut(const MatmulSpec& s, int most_threads) : tiles(tiles_for(s)) {
        const TileSet& t = tiles;
        choose_grid(s, most_threads);
        elements_k = ceil_div(s.k, t.values);
        // Few rows of a are taken as one block, less deep, so that a panel of b is used up at once. Decided
        // by all rows, not by a thread's: the order of sums must not hang on the number of threads.
        const std::int64_t depth_of_all = bytes_of_a() / 4 / (ceil_div(s.m, t.rows) * t.a_row);
        num_k = std::max<std::int64_t>(
            1, ceil_div(elements_k,
                        depth_of_all < kLeastDepth ? kMostDepth : std::min(kMostDepth, depth_of_all)));
        depth = ceil_div(elements_k, num_k);
        choose_blocks(s);
        a_floats = in_lines(block_m * t.a_row * depth);
        b_floats = in_lines(kept_n * t.columns * depth);
        if (!direct && num_k > 1) sums_floats = in_lines(ceil_div(s.m, parts_m()) * block_n * t.columns);
    }
    int num_threads() const { return grid_m * grid_n; }
    int parts_m() const { return team == Team::kRows ? grid_m / 2 : grid_m; }
    int parts_n() const { return team == Team::kColumns ? grid_n / 2 : grid_n; }
    std::int64_t floats() const {
        return (a_floats + b_floats) * num_threads() + (sums_floats + team_words) * parts_m() * parts_n();
    }

  private:
    void choose_blocks(const MatmulSpec& s) {
        const TileSet& t = tiles;
        const std::int64_t panel_floats = std::max<std::int64_t>(1, depth),
                           columns = ceil_div(s.n, t.columns);
        const std::int64_t panels_m = ceil_div(ceil_div(s.m, grid_m), t.rows),
                           panels_n = ceil_div(columns, grid_n),
                           most_m = std::max<std::int64_t>(1, bytes_of_a() / 4 / (panel_floats * t.a_row));
        block_m = ceil_div(panels_m, ceil_div(panels_m, most_m));
        const std::int64_t most = std::max<std::int64_t>(1, kBytesOfB / 4 / (panel_floats * t.columns));
        block_n = ceil_div(panels_n, ceil_div(panels_n, most));
        kept_n = block_n;
        direct = s.c == DType::f32;
        const bool one_block = block_m == panels_m;
        if (grid_n % 2 == 0 && one_block && panels_n * 2 >= kPanelsOfTeam)
            team = Team::kColumns;
        else if (grid_m % 2 == 0 && panels_m * 2 >= kPanelsOfTeam)
            team = Team::kRows;
        if (team != Team::kRows && one_block) {
            kept_n = 2;
            const std::int64_t of_part = ceil_div(columns, parts_n());
            block_n = direct ? of_part : std::min(of_part, block_n * (grid_n / parts_n()));
        }
        if (team == Team::kNone) return;
        rounds = ceil_div(ceil_div(columns, parts_n()), block_n) * num_k;
        const std::int64_t rows = ceil_div(ceil_div(s.m, parts_m()), t.rows);
        team_words = in_lines(MatmulTeam::words(rounds, team == Team::kColumns ? block_n : rows));
    }
    // Each thread packs its own operands: the grid with the least to pack.
    void choose_grid(const MatmulSpec& s, int most_threads) {
        const double flops =
            2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
        const int threads = static_cast<int>(std::clamp(flops / kFlopsOfThread, 1.0, 1.0 * most_threads));
        const std::int64_t panels = ceil_div(s.n, tiles.columns);
        std::int64_t least = -1;
        for (int gm = 1; gm <= threads; ++gm) {
            const int gn = threads / gm;
            if (gm * gn != threads || gm > s.m || gn > panels) continue;
            const std::int64_t packed = ceil_div(s.m, gm) + ceil_div(panels, gn) * tiles.columns;
            if (least >= 0 && packed > least) continue;
            least = packed;
            grid_m = gm;
            grid_n = gn;
        }
    }
};

}  // namespace mpt::cpu::matmul_cut
