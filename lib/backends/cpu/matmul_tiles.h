// The innermost products: a tile of c in registers, over panels of a and b that are packed for it. An element
// of a panel is an f32, or two bf16 that follow each other in k.
#pragma once

#include <cstdint>

namespace mpt::cpu {

// Row p of a panel of a is a_row elements, of which as many as the tile has rows count; of b `columns`.
struct TileArgs {
    const float* a = nullptr;
    const float* b = nullptr;
    std::int64_t k = 0;
    float* c = nullptr;
    std::int64_t c_row = 0;        // elements from a row of c to the next
    const float* start = nullptr;  // a row that every row of sums begins with; null: zero
    bool add = false;              // the sums are added to c

    // Memory that comes near while the tile is computed: for every sixteen rows of the panels two rows of
    // each of `soon` (128 bytes of each row, of as many as the tile has), and four lines of `ahead`.
    struct Rows {
        const char* data = nullptr;
        std::int64_t row = 0;  // bytes
    };
    Rows soon[2] = {};
    const char* ahead = nullptr;
    std::int64_t ahead_step = 0;       // bytes from each four lines to the next
    std::int64_t ahead_lines[4] = {};  // offsets of the four
};

struct TileSet {
    int rows = 0;                                   // most rows of a tile
    int columns = 0;                                // of every tile
    int a_row = 0;                                  // elements from a row of a panel of a to the next
    int values = 1;                                 // of k in an element
    void (*const* run)(const TileArgs&) = nullptr;  // by the number of rows
};

const TileSet& tiles_avx2();
const TileSet& tiles_avx512();
// Needs AVX512_BF16 (has_bf16_products of instruction_set.h); subnormal numbers count as zero.
const TileSet& tiles_bf16_avx512();

}  // namespace mpt::cpu
