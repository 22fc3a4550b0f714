// How many queries attention's GPU kernels take against how many keys at a time: the largest tiles that a
// block's shared memory holds, which is 64 KiB on a T4, 96 on a V100, 99 to 227 on later ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mpt {

enum class AttentionPass : std::uint8_t { kForward, kBackward };

struct AttentionTile {
    int queries = 0, keys = 0;
    bool operator==(const AttentionTile&) const = default;
};

// Shared memory of a block, in f32. Rows of what is transposed are one longer: no two lanes in one bank.
// Forward: queries and values as they are, and keys transposed, whose place the weights take. Backward:
// queries and gradients as they are, keys and values transposed, and scores.
constexpr std::size_t attention_tile_bytes(AttentionPass pass, int size, const AttentionTile& tile) {
    const int of_queries = tile.queries * size, of_keys = tile.keys * size;
    const int transposed = (tile.keys + 1) * size, scores = (tile.keys + 1) * tile.queries;
    const int floats = pass == AttentionPass::kForward
                           ? of_queries + of_keys + (transposed > scores ? transposed : scores)
                           : 2 * of_queries + 2 * transposed + scores;
    return static_cast<std::size_t>(floats) * sizeof(float);
}

// The tiles there are kernels for, largest first; none for a head of another size.
inline constexpr AttentionTile kTiles[] = {{64, 64}};
inline constexpr AttentionTile kForwardTiles128[] = {{64, 64}, {32, 32}};
inline constexpr AttentionTile kBackwardTiles64[] = {{64, 64}, {64, 32}};
inline constexpr AttentionTile kBackwardTiles128[] = {{64, 64}, {32, 32}, {16, 32}};

constexpr std::span<const AttentionTile> attention_tiles(AttentionPass pass, std::int64_t size) {
    if (size == 128)
        return pass == AttentionPass::kForward ? std::span<const AttentionTile>(kForwardTiles128)
                                               : std::span<const AttentionTile>(kBackwardTiles128);
    if (size == 64 && pass == AttentionPass::kBackward) return kBackwardTiles64;
    if (size == 16 || size == 32 || size == 64) return kTiles;
    return {};
}

// The first that fits; null where none does.
constexpr const AttentionTile* fitting_attention_tile(AttentionPass pass, std::int64_t size,
                                                      std::int64_t shared_bytes) {
    for (const AttentionTile& tile : attention_tiles(pass, size))
        if (static_cast<std::int64_t>(attention_tile_bytes(pass, static_cast<int>(size), tile)) <=
            shared_bytes)
            return &tile;
    return nullptr;
}

}  // namespace mpt
