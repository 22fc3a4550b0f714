#include "plan/arena_plan.h"

#include <algorithm>
#include <numeric>

namespace mpt {

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
    std::vector<std::size_t> by_size(lifetimes.size());
    std::iota(by_size.begin(), by_size.end(), std::size_t{0});
    std::ranges::stable_sort(
        by_size, [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

    ArenaPlan plan;
    plan.offsets.assign(lifetimes.size(), 0);
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t item : by_size) {
        const Lifetime& life = lifetimes[item];
        const std::int64_t bytes = (life.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
        if (bytes == 0) continue;  // at offset 0, in nobody's way: most nodes have no workspace
        std::int64_t offset = 0;
        for (const std::size_t other : placed) {
            const Lifetime& o = lifetimes[other];
            if (o.last < life.first || life.last < o.first) continue;
            if (offset + bytes <= plan.offsets[other]) break;
            const std::int64_t end =
                plan.offsets[other] + (o.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
            offset = std::max(offset, end);
        }
        plan.offsets[item] = offset;
        plan.bytes = std::max(plan.bytes, offset + bytes);
        const auto place =
            std::ranges::upper_bound(placed, offset, {}, [&](std::size_t p) { return plan.offsets[p]; });
        placed.insert(place, item);
    }
    return plan;
}

}  // namespace mpt
