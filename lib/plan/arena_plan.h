// Offsets for things with lifetimes: the whole of static memory planning, after tinygrad's idea of sorting by
// size and putting each thing into the lowest gap that is free during its life.
#pragma once

#include <cstdint>
#include <vector>

namespace mpt {

struct Lifetime {
    std::int64_t bytes = 0;
    int first = 0, last = 0;  // steps, inclusive
};

struct ArenaPlan {
    std::vector<std::int64_t> offsets;  // one a lifetime
    std::int64_t bytes = 0;             // size of the arena
};

inline constexpr std::int64_t kArenaAlignment = 256;

// Things whose lives overlap never overlap in memory; deterministic.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace mpt
