#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "generate/sampler.h"
#include "support/errors.h"

using namespace mpt;
using namespace mpt::test;

namespace {

const std::vector<float> kLogits = {0.5f, 2.0f, -1.0f, 1.5f, 2.0f};

// Shares of the tokens in many draws.
std::map<TokenId, double> shares(const SamplingOptions& options, std::int64_t draws = 20000) {
    Sampler sampler(options);
    std::map<TokenId, double> counts;
    for (std::int64_t i = 0; i < draws; ++i)
        counts[sampler.choose(kLogits, i)] += 1 / static_cast<double>(draws);
    return counts;
}

}  // namespace

TEST_CASE("at temperature 0 the most likely token is taken, the first of equal ones") {
    for (std::int64_t draw = 0; draw < 5; ++draw) CHECK(Sampler({0, 0, 1}).choose(kLogits, draw) == 1);
}

TEST_CASE("tokens are drawn as often as softmax says") {
    const double temperature = GENERATE(0.5, 1.0, 3.0);
    double total = 0;
    for (const float z : kLogits) total += std::exp(static_cast<double>(z) / temperature);
    const auto drawn = shares({temperature, 0, 5});
    for (std::size_t i = 0; i < kLogits.size(); ++i) {
        const double p = std::exp(static_cast<double>(kLogits[i]) / temperature) / total;
        // Five standard deviations of a share of 20000 draws.
        const double margin = 5 * std::sqrt(p * (1 - p) / 20000);
        const auto found = drawn.find(static_cast<TokenId>(i));
        CHECK((found == drawn.end() ? 0 : found->second) == Approx(p).margin(margin));
    }
}

TEST_CASE("top-k leaves the k most likely tokens and what equals the last of them") {
    CHECK(shares({1, 3, 1}).size() == 3);
    const auto one = shares({1, 1, 1});
    REQUIRE(one.size() == 2);  // 1 and 4 are equal
    CHECK(one.contains(1));
    CHECK(one.contains(4));
    CHECK(shares({1, 100, 1}).size() == 5);
}

TEST_CASE("a draw is a function of seed and number") {
    Sampler a({1, 0, 11}), b({1, 0, 11}), other({1, 0, 12});
    std::vector<TokenId> drawn, different;
    for (std::int64_t i = 0; i < 50; ++i) drawn.push_back(a.choose(kLogits, i));
    for (std::int64_t i = 49; i >= 0; --i)  // in any order
        CHECK(b.choose(kLogits, i) == drawn[static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < 50; ++i) different.push_back(other.choose(kLogits, i));
    CHECK(different != drawn);
}

TEST_CASE("logits that are not finite are refused") {
    for (const float bad : {std::nanf(""), HUGE_VALF}) {
        std::vector<float> logits = kLogits;
        logits[3] = bad;
        for (const double temperature : {0.0, 1.0})
            CHECK(error_of(ExitCode::kDivergence, [&] {
                      Sampler({temperature, 2, 1}).choose(logits, 0);
                  }).find("not finite") != std::string::npos);
    }
}
