// Beam search over languages small enough to see through: tables of log-probabilities.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "generate/beam_search.h"

using namespace mpt;

namespace {

constexpr TokenId kBegin = 0, kEnd = 1, kA = 2, kB = 3;

// Probabilities of the next token after a beginning.
using Language = std::function<std::map<TokenId, double>(const TokenIds& so_far)>;

// The decoder's part: a past for each row, moved as a cache would be.
Hypothesis search(const Language& language, const BeamOptions& options, std::int64_t limit,
                  int* num_steps = nullptr) {
    BeamSearch beam(options, limit);
    const auto width = static_cast<std::size_t>(options.width);
    std::vector<TokenIds> pasts(width);
    const auto count = static_cast<std::size_t>(BeamSearch::num_candidates(options.width));
    while (!beam.finished()) {
        std::vector<float> logp;
        std::vector<std::int32_t> tokens;
        for (std::size_t row = 0; row < width; ++row) {
            const TokenId token = beam.token(static_cast<std::int64_t>(row));
            if (token != kBegin) pasts[row].push_back(token);
            std::vector<std::pair<double, TokenId>> sorted;
            for (const auto& [next, p] : language(pasts[row])) sorted.emplace_back(-std::log(p), next);
            std::ranges::sort(sorted);
            sorted.resize(count, {std::numeric_limits<double>::infinity(), kBegin});
            for (const auto& [negative, next] : sorted) {
                logp.push_back(static_cast<float>(-negative));
                tokens.push_back(next);
            }
        }
        beam.advance(logp, tokens);
        if (num_steps != nullptr) ++*num_steps;
        // Rows are copied one after the other: a parent must stay in its place.
        for (std::size_t row = 0; row < width; ++row) {
            const std::int64_t parent = beam.parent(static_cast<std::int64_t>(row));
            CHECK(beam.parent(parent) == parent);
            pasts[row] = pasts[static_cast<std::size_t>(parent)];
        }
    }
    return beam.best();
}

// A looks better at first; what follows B is certain.
std::map<TokenId, double> deceptive(const TokenIds& so_far) {
    if (so_far.empty()) return {{kA, 0.6}, {kB, 0.4}};
    if (so_far.front() == kB)
        return so_far.size() < 3 ? std::map<TokenId, double>{{kB, 1.0}}
                                 : std::map<TokenId, double>{{kEnd, 1.0}};
    return so_far.size() < 3 ? std::map<TokenId, double>{{kA, 0.5}, {kB, 0.5}}
                             : std::map<TokenId, double>{{kEnd, 1.0}};
}

}  // namespace

TEST_CASE("the length penalty is that of Wu et al.") {
    CHECK(length_penalty(1, 0.6) == Approx(1.0));
    CHECK(length_penalty(7, 1.0) == Approx(2.0));
    CHECK(length_penalty(7, 0.0) == Approx(1.0));
}

TEST_CASE("width 1 takes the likeliest token each time, a wider beam finds the likelier sentence") {
    const BeamOptions greedy{1, 0, kBegin, kEnd}, wide{2, 0, kBegin, kEnd};
    const Hypothesis first = search(deceptive, greedy, 10), best = search(deceptive, wide, 10);
    CHECK(first.tokens == TokenIds{kA, kA, kA});
    CHECK(first.log_probability == Approx(std::log(0.6 * 0.25)));
    CHECK(best.tokens == TokenIds{kB, kB, kB});
    CHECK(best.log_probability == Approx(std::log(0.4)));
    CHECK(best.ended);
}

TEST_CASE("a wide enough beam finds the best of all sentences") {
    // Probabilities that hang on everything so far; the end gets more likely.
    const Language language = [](const TokenIds& so_far) {
        std::uint32_t hash = 7;
        for (const TokenId id : so_far) hash = hash * 31 + static_cast<std::uint32_t>(id);
        const double a = 0.1 + 0.5 * ((hash * 2654435761u >> 8) % 1000) / 1000.0;
        const double end = so_far.size() < 4 ? 0.15 : 1.0;
        return end == 1.0
                   ? std::map<TokenId, double>{{kEnd, 1.0}}
                   : std::map<TokenId, double>{{kEnd, end}, {kA, a * (1 - end)}, {kB, (1 - a) * (1 - end)}};
    };
    for (const double alpha : {0.0, 0.6, 1.0}) {
        double best = -1e9;
        const std::function<void(TokenIds, double)> visit = [&](const TokenIds& so_far, double logp) {
            for (const auto& [next, p] : language(so_far)) {
                const double now = logp + std::log(p);
                if (next == kEnd) {
                    const auto length = static_cast<std::int64_t>(so_far.size()) + 1;
                    best = std::max(best, now / length_penalty(length, alpha));
                    continue;
                }
                TokenIds longer = so_far;
                longer.push_back(next);
                visit(longer, now);
            }
        };
        visit({}, 0);
        const Hypothesis found = search(language, {40, alpha, kBegin, kEnd}, 20);
        CHECK(found.score == Approx(best).epsilon(1e-6));
        CHECK(found.score ==
              Approx(found.log_probability /
                     length_penalty(static_cast<std::int64_t>(found.tokens.size()) + 1, alpha)));
    }
}

TEST_CASE("a sentence without an end is cut at the limit") {
    const Language endless = [](const TokenIds&) { return std::map<TokenId, double>{{kA, 0.7}, {kB, 0.3}}; };
    for (const std::int64_t width : {1, 2}) {
        const Hypothesis cut = search(endless, {width, 0.6, kBegin, kEnd}, 5);
        CHECK(cut.tokens == TokenIds{kA, kA, kA, kA, kA});
        CHECK_FALSE(cut.ended);
    }
}

TEST_CASE("the search ends once nothing can win any more") {
    // Ending at once is all but certain; going on would take the whole limit.
    const Language short_one = [](const TokenIds& so_far) {
        return so_far.empty() ? std::map<TokenId, double>{{kEnd, 0.98}, {kA, 0.01}, {kB, 0.01}}
                              : std::map<TokenId, double>{{kEnd, 0.01}, {kA, 0.5}, {kB, 0.49}};
    };
    int steps = 0;
    const Hypothesis found = search(short_one, {4, 0, kBegin, kEnd}, 100, &steps);
    CHECK(found.tokens.empty());
    CHECK(found.ended);
    CHECK(steps == 1);
}

TEST_CASE("rows that are not finite are given up") {
    const float nan = std::nanf("");
    for (const std::int64_t width : {1, 2}) {
        BeamSearch beam({width, 0.6, kBegin, kEnd}, 10);
        const auto count = static_cast<std::size_t>(width * BeamSearch::num_candidates(width));
        std::vector<float> logp(count, -1.0f);
        std::vector<std::int32_t> tokens(count);
        std::iota(tokens.begin(), tokens.end(), kA);
        beam.advance(logp, tokens);
        REQUIRE_FALSE(beam.finished());
        beam.advance(std::vector<float>(count, nan), tokens);
        CHECK(beam.finished());
        CHECK(beam.best().tokens == TokenIds{kA});
    }
}
