// Static memory planning: nothing alive at the same time overlaps, and what never meets shares.
#include "plan/arena_plan.h"

#include <catch2/catch.hpp>

#include "core/philox.h"

using namespace mpt;

TEST_CASE("lifetimes that meet never overlap in memory", "[arena_plan]") {
    for (std::uint64_t round = 0; round < 50; ++round) {
        RandomStream random(round, RandomPurpose::kSample, 0);
        std::vector<Lifetime> lives;
        std::int64_t total = 0, peak = 0;
        for (int i = 0; i < 60; ++i) {
            const int first = static_cast<int>(random.below(40));
            lives.push_back({static_cast<std::int64_t>(random.below(100000)), first,
                             first + static_cast<int>(random.below(10))});
            total += lives.back().bytes + kArenaAlignment;
        }
        const ArenaPlan plan = plan_arena(lives);
        for (std::size_t a = 0; a < lives.size(); ++a) {
            REQUIRE(plan.offsets[a] % kArenaAlignment == 0);
            REQUIRE(plan.offsets[a] + lives[a].bytes <= plan.bytes);
            for (std::size_t b = 0; b < a; ++b) {
                const bool meet = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
                const bool apart = plan.offsets[a] + lives[a].bytes <= plan.offsets[b] ||
                                   plan.offsets[b] + lives[b].bytes <= plan.offsets[a];
                REQUIRE((!meet || apart));
            }
        }
        for (int step = 0; step < 50; ++step) {
            std::int64_t live = 0;
            for (const Lifetime& l : lives)
                if (l.first <= step && step <= l.last) live += l.bytes;
            peak = std::max(peak, live);
        }
        CHECK(plan.bytes >= peak);
        CHECK(plan.bytes < total);
    }
}

TEST_CASE("things that never meet share one place", "[arena_plan]") {
    const ArenaPlan plan = plan_arena({{1000, 0, 1}, {1000, 2, 3}, {500, 4, 4}});
    CHECK(plan.bytes == 1024);
    CHECK(plan.offsets == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("a chain of two alive at a time needs two places", "[arena_plan]") {
    std::vector<Lifetime> chain;
    for (int i = 0; i < 20; ++i) chain.push_back({4096, i, i + 1});
    CHECK(plan_arena(chain).bytes == 2 * 4096);
}

TEST_CASE("an empty plan needs nothing", "[arena_plan]") {
    CHECK(plan_arena({}).bytes == 0);
}
