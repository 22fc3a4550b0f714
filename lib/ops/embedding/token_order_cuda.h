// Tokens in the order of their rows of a table, and of their places within a row: sorted in tiles, then
// merged, several runs at a time. No atomics, so that the order is one whatever runs first. For
// embedding_cuda.cu only.
#pragma once

#include <utility>

#include "backends/cuda/device_math.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kSortTile = 256;
inline constexpr int kMergeWays = 8;

// A row above, a token's place below; the greatest has no row.
struct TokenKey {
    static constexpr std::uint64_t kNoRow = 0xffffffffu;
    std::uint64_t bits;
    MPT_DEVICE std::int64_t row() const { return static_cast<std::int64_t>(bits >> 32); }
    MPT_DEVICE bool has_row() const { return bits >> 32 != kNoRow; }
    MPT_DEVICE std::int64_t token() const { return static_cast<std::int64_t>(bits & 0xffffffffu); }
};

// A block sorts a tile: a key's place is the number of those below it, and no two are equal. Padding and
// unknown ids get no row.
MPT_KERNEL(kSortTile)
static void sort_tile_kernel(std::int64_t tokens, std::int64_t rows, std::int64_t padding,
                             const std::int32_t* ids, TokenKey* keys) {
    MPT_SHARED(std::uint64_t, tile, kSortTile);
    const std::int64_t first = block_index() * kSortTile, token = first + thread_index();
    std::uint64_t key = ~std::uint64_t{0};
    if (token < tokens) {
        const std::int64_t row = ids[token];
        const bool counts = row >= 0 && row < rows && row != padding;
        key = (counts ? static_cast<std::uint64_t>(row) : TokenKey::kNoRow) << 32 |
              static_cast<std::uint64_t>(token);
    }
    tile.put(thread_index(), key);
    sync_block();
    if (token >= tokens) return;
    const std::int64_t count = tokens - first < kSortTile ? tokens - first : kSortTile;
    std::int64_t below = 0;
    for (std::int64_t i = 0; i < count; ++i) below += tile.get(i) < key ? 1 : 0;
    keys[first + below].bits = key;
}

// Runs of `run` sorted keys become runs of kMergeWays as many: a key's place is the sum of its places in
// each.
MPT_KERNEL(kSortTile)
static void merge_kernel(std::int64_t tokens, std::int64_t run, const TokenKey* keys, TokenKey* merged) {
    const std::int64_t at = block_index() * kSortTile + thread_index();
    if (at >= tokens) return;
    const std::uint64_t key = keys[at].bits;
    const std::int64_t first = at / (run * kMergeWays) * (run * kMergeWays);
    std::int64_t below = first;
    for (int way = 0; way < kMergeWays; ++way) {
        const std::int64_t begin = first + way * run;
        if (begin >= tokens) break;
        std::int64_t low = begin, high = begin + run < tokens ? begin + run : tokens;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (keys[middle].bits < key)
                low = middle + 1;
            else
                high = middle;
        }
        below += low - begin;
    }
    merged[below].bits = key;
}

// Returns which of the two buffers, of `tokens` keys each, holds the result.
inline const TokenKey* order_tokens(Device& device, std::int64_t tokens, std::int64_t rows,
                                    std::int64_t padding, const std::int32_t* ids, TokenKey* keys,
                                    TokenKey* other) {
    const std::int64_t blocks = blocks_for(tokens, kSortTile);
    launch(device, {.blocks = blocks, .threads = kSortTile}, sort_tile_kernel, tokens, rows, padding, ids,
           keys);
    for (std::int64_t run = kSortTile; run < tokens; run *= kMergeWays) {
        launch(device, {.blocks = blocks, .threads = kSortTile, .threads_meet = false}, merge_kernel, tokens,
               run, static_cast<const TokenKey*>(keys), other);
        std::swap(keys, other);
    }
    return keys;
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
