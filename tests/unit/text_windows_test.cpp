// Windows for language models.
#include <catch2/catch.hpp>
#include <numeric>

#include "dataset/text/token_windows.h"
#include "support/errors.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// Token i is i, so that a window tells where it was cut.
TokenStream counting_stream(std::int64_t count) {
    TokenIds ids(static_cast<std::size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
    return TokenStream::from_ids(std::move(ids));
}

}  // namespace

TEST_CASE("windows: random ones are a function of seed, step and micro-step") {
    const TokenStream stream = counting_stream(1000);
    const WindowShape shape{.rows = 12, .length = 64};
    const TokenBatch batch = random_windows(stream, shape, 7, 41);
    CHECK(batch.inputs == random_windows(stream, shape, 7, 41).inputs);
    CHECK(batch.inputs != random_windows(stream, shape, 8, 41).inputs);
    CHECK(batch.inputs != random_windows(stream, shape, 7, 42).inputs);
    CHECK(batch.inputs != random_windows(stream, shape, 7, 41, 1).inputs);
    CHECK(batch.num_targets == 12 * 64);
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
        CHECK(batch.targets[i] == batch.inputs[i] + 1);
        if (i % 64 != 0) CHECK(batch.inputs[i] == batch.inputs[i - 1] + 1);
    }
}

// 20 tokens, windows of 16: starts 0..3, the target of the last is the last token. Each is drawn about 1000
// times of 4000 (standard deviation 27).
TEST_CASE("windows: random ones start everywhere a target is left") {
    const TokenStream stream = counting_stream(20);
    std::vector<int> starts(4);
    for (std::int64_t step = 0; step < 1000; ++step) {
        const TokenBatch batch = random_windows(stream, {.rows = 4, .length = 16}, 1, step);
        for (std::size_t row = 0; row < 4; ++row)
            ++starts.at(static_cast<std::size_t>(batch.inputs[row * 16]));
    }
    for (const int count : starts) CHECK(count == Approx(1000).margin(110));
    CHECK(random_windows(counting_stream(17), {.rows = 1, .length = 16}, 1, 0).targets.back() == 16);
}

TEST_CASE("windows: sequential ones have every token but the first as a target once") {
    for (const std::int64_t count : {2, 8, 9, 10, 33, 34, 100}) {
        const TokenStream stream = counting_stream(count);
        for (const WindowShape shape :
             {WindowShape{1, 8}, WindowShape{4, 8}, WindowShape{3, 1}, WindowShape{2, 200}}) {
            std::vector<TokenId> targets;
            std::int64_t weight = 0;
            for (std::int64_t b = 0; b < num_sequential_batches(stream, shape); ++b) {
                const TokenBatch batch = sequential_windows(stream, shape, b);
                REQUIRE(batch.inputs.size() == static_cast<std::size_t>(shape.rows * shape.length));
                CHECK(batch.num_targets > 0);
                weight += batch.num_targets;
                for (std::size_t i = 0; i < batch.targets.size(); ++i) {
                    if (batch.targets[i] == kIgnoredTarget) {
                        CHECK(batch.inputs[i] == 0);
                        continue;
                    }
                    CHECK(batch.inputs[i] == batch.targets[i] - 1);
                    targets.push_back(batch.targets[i]);
                }
            }
            TokenIds expected(static_cast<std::size_t>(count - 1));
            std::iota(expected.begin(), expected.end(), 1);
            INFO(count << " tokens, " << shape.rows << " x " << shape.length);
            CHECK(targets == expected);
            CHECK(weight == count - 1);
        }
    }
    CHECK(num_sequential_batches(counting_stream(1), {1, 8}) == 0);
}

TEST_CASE("windows: too little text") {
    CHECK_NOTHROW(check_window_fits(counting_stream(9), 8, "a.txt"));
    const std::string message =
        error_of(ExitCode::kData, [] { check_window_fits(counting_stream(8), 8, "a.txt"); });
    CHECK(message.find("a.txt: 8 tokens are too few for a window of 8") != std::string::npos);
}
