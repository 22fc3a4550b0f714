// Which samples an epoch visits, and in which windows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "dataset/dataset.h"

using namespace mpt;

TEST_CASE("ten samples, batch 8, accumulate 4: 2,2,2,2 and then 2") {
    const auto windows = epoch_windows(10, {8, 4, false});
    REQUIRE(windows.size() == 2);
    CHECK(windows[0] == Window{0, 8, {2, 2, 2, 2}});
    CHECK(windows[1] == Window{8, 2, {2}});
    const auto full_only = epoch_windows(10, {8, 4, true});
    REQUIRE(full_only.size() == 1);
    CHECK(full_only[0] == Window{0, 8, {2, 2, 2, 2}});
}

TEST_CASE("seven samples, batch 8: one window of 7, or none with drop_last") {
    CHECK(epoch_windows(7, {8, 1, false}) == std::vector<Window>{{0, 7, {7}}});
    CHECK(epoch_windows(7, {8, 1, true}).empty());
    CHECK(epoch_windows(0, {8, 1, false}).empty());
}

TEST_CASE("windows tile the epoch for all small sizes") {
    for (std::int64_t samples = 0; samples <= 20; ++samples) {
        for (std::int64_t batch = 1; batch <= 9; ++batch) {
            for (std::int64_t accumulate = 1; accumulate <= batch; ++accumulate) {
                for (const bool drop_last : {false, true}) {
                    const Batching batching{batch, accumulate, drop_last};
                    const auto windows = epoch_windows(samples, batching);
                    REQUIRE(num_windows(samples, batching) == static_cast<std::int64_t>(windows.size()));
                    std::int64_t next = 0;
                    for (const Window& window : windows) {
                        REQUIRE(window.offset == next);
                        REQUIRE(window.samples == std::min(batch, samples - next));
                        const auto& sizes = window.micro_batches;
                        REQUIRE(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) ==
                                window.samples);
                        REQUIRE(*std::max_element(sizes.begin(), sizes.end()) <= batching.micro_batch());
                        REQUIRE(*std::min_element(sizes.begin(), sizes.end()) >= 1);
                        REQUIRE(static_cast<std::int64_t>(sizes.size()) <= accumulate);
                        next += window.samples;
                    }
                    REQUIRE(next == (drop_last ? samples / batch * batch : samples));
                }
            }
        }
    }
}

TEST_CASE("windows from a boundary on are the tail of the epoch's windows") {
    const Batching batching{6, 3, false};
    const auto all = epoch_windows(40, batching);
    for (std::size_t i = 0; i <= all.size(); ++i) {
        const std::int64_t offset = i < all.size() ? all[i].offset : 40;
        const auto tail = epoch_windows(40, batching, offset);
        CHECK(tail == std::vector<Window>(all.begin() + static_cast<std::ptrdiff_t>(i), all.end()));
    }
}

TEST_CASE("every epoch is a permutation, another for another seed and epoch") {
    for (const std::int64_t count : {1, 2, 3, 10, 1000, 60000}) {
        const auto order = epoch_order(count, 7, 3, Order::kShuffled);
        auto sorted = order;
        std::sort(sorted.begin(), sorted.end());
        CHECK(sorted == epoch_order(count, 7, 3, Order::kInOrder));
        CHECK(order == epoch_order(count, 7, 3, Order::kShuffled));
        if (count < 10) continue;
        CHECK(order != sorted);
        CHECK(order != epoch_order(count, 7, 4, Order::kShuffled));
        CHECK(order != epoch_order(count, 8, 3, Order::kShuffled));
    }
}

// Chi-square with 719 degrees of freedom: mean 719, deviation sqrt(2 * 719) = 37.9; five deviations are
// allowed.
TEST_CASE("all permutations of six come equally often") {
    std::map<std::vector<std::uint32_t>, int> seen;
    const int epochs = 72000;
    for (int epoch = 0; epoch < epochs; ++epoch) ++seen[epoch_order(6, 1, epoch, Order::kShuffled)];
    REQUIRE(seen.size() == 720);
    double chi_square = 0;
    for (const auto& [order, count] : seen) chi_square += (count - 100.0) * (count - 100.0) / 100.0;
    CHECK(chi_square < 719 + 5 * 37.9);
    CHECK(chi_square > 719 - 5 * 37.9);
}
