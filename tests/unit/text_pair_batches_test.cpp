// Batches of sentence pairs in length buckets.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

#include "core/philox.h"
#include "dataset/text/pair_batches.h"
#include "support/errors.h"

using namespace mpt;
using namespace mpt::test;

namespace {

constexpr PairSpecials kSpecials{.padding = 0, .begin = 2, .end = 3};

// Pair i: lengths drawn from 1..max_length, tokens 10 + i.
PairTokens random_pairs(std::int64_t count, std::uint64_t max_length) {
    RandomStream random(5, RandomPurpose::kSynthetic, 0);
    PairTokens pairs;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto token = static_cast<TokenId>(10 + i);
        const TokenIds source(1 + random.below(max_length), token),
            target(1 + random.below(max_length), token);
        pairs.append(source, target);
    }
    return pairs;
}

std::vector<TokenIds> all_sources(PairBatches& batches, std::int64_t epoch) {
    std::vector<TokenIds> sources;
    for (std::int64_t b = 0; b < batches.num_batches(); ++b)
        sources.push_back(batches.batch({epoch, b}).source);
    return sources;
}

}  // namespace

// By hand: pair 0 is {11, 12} -> {21}, pair 1 {13} -> {22, 23, 24}; 4 tokens are needed, of three rows one is
// empty.
TEST_CASE("pair batches: what stands where") {
    PairTokens pairs;
    pairs.append(TokenIds{11, 12}, TokenIds{21});
    pairs.append(TokenIds{13}, TokenIds{22, 23, 24});
    PairBatches batches(pairs, {{4, 3}}, kSpecials, 1, PairBatches::BatchOrder::kByLength);
    REQUIRE(batches.num_batches() == 1);
    const PairBatch batch = batches.batch({0, 0});
    CHECK(batch.source == TokenIds{11, 12, 3, 0, 13, 3, 0, 0, 0, 0, 0, 0});
    CHECK(batch.target_inputs == TokenIds{2, 21, 0, 0, 2, 22, 23, 24, 0, 0, 0, 0});
    CHECK(batch.targets == TokenIds{21, 3, -1, -1, 22, 23, 24, 3, -1, -1, -1, -1});
    CHECK(batch.source_lengths == std::vector<std::int32_t>{3, 2, 0});
    CHECK(batch.target_lengths == std::vector<std::int32_t>{2, 4, 0});
    CHECK(batch.pair_ids == std::vector<std::uint32_t>{0, 1});
    CHECK(batch.num_targets == 6);
    CHECK(batch.num_source_tokens == 5);
}

TEST_CASE("pair batches: every pair once an epoch, within the tokens allowed, in another order each epoch") {
    const PairTokens pairs = random_pairs(1000, 60);
    const BucketOptions options{.batch_tokens = 512, .num_buckets = 5, .length_multiple = 8};
    const std::vector<PairBucket> buckets = choose_buckets(pairs, options);
    CHECK(buckets.size() > 2);
    CHECK(buckets.size() <= 5);
    PairBatches batches(pairs, buckets, kSpecials, 9, PairBatches::BatchOrder::kShuffled);
    std::vector<std::uint32_t> first_order;
    for (const std::int64_t epoch : {0, 1, 2}) {
        std::vector<std::uint32_t> order;
        std::int64_t targets = 0;
        for (std::int64_t b = 0; b < batches.num_batches(); ++b) {
            const PairBatch batch = batches.batch({epoch, b});
            CHECK(batch.rows * batch.length <= 512);
            CHECK(batch.length % 8 == 0);
            CHECK(PairBucket{batch.length, batch.rows} == buckets[batch.bucket]);
            CHECK(!batch.pair_ids.empty());
            order.insert(order.end(), batch.pair_ids.begin(), batch.pair_ids.end());
            targets += batch.num_targets;
            CHECK(batch.num_targets == std::count_if(batch.targets.begin(), batch.targets.end(),
                                                     [](TokenId t) { return t >= 0; }));
        }
        std::int64_t expected_targets = 0;
        for (std::int64_t i = 0; i < 1000; ++i) expected_targets += std::ssize(pairs.target(i)) + 1;
        CHECK(targets == expected_targets);
        if (epoch == 0) first_order = order;
        if (epoch != 0) CHECK(order != first_order);
        std::sort(order.begin(), order.end());
        std::vector<std::uint32_t> expected(1000);
        std::iota(expected.begin(), expected.end(), 0u);
        CHECK(order == expected);
    }
}

TEST_CASE("pair batches: a function of seed, epoch and position, so a run resumes anywhere") {
    const PairTokens pairs = random_pairs(300, 40);
    const auto buckets = choose_buckets(pairs, {.batch_tokens = 256});
    const auto make = [&](std::uint64_t seed) {
        return PairBatches(pairs, buckets, kSpecials, seed, PairBatches::BatchOrder::kShuffled);
    };
    PairBatches straight = make(3), other = make(4);
    const auto wanted = all_sources(straight, 5);
    CHECK(all_sources(straight, 6) != wanted);
    CHECK(all_sources(straight, 5) == wanted);
    CHECK(all_sources(other, 5) != wanted);

    PairBatches resumed = make(3);
    PairPosition position{5, straight.num_batches() / 2};
    for (; position.epoch == 5; position = resumed.after(position)) {
        CHECK(resumed.batch(position).source == wanted[static_cast<std::size_t>(position.batch)]);
    }
    CHECK(position == PairPosition{6, 0});
}

TEST_CASE("pair batches: by length for evaluation, the same in every epoch") {
    const PairTokens pairs = random_pairs(100, 30);
    PairBatches batches(pairs, choose_buckets(pairs, {.batch_tokens = 128}), kSpecials, 3,
                        PairBatches::BatchOrder::kByLength);
    std::int64_t last = 0;
    for (std::int64_t b = 0; b < batches.num_batches(); ++b) {
        CHECK(batches.batch({0, b}).length >= last);
        last = batches.batch({0, b}).length;
        CHECK(batches.batch({0, b}).source == batches.batch({7, b}).source);
    }
}

TEST_CASE("pair batches: nothing but padding has the weight 0") {
    const PairTokens pairs = random_pairs(10, 6);
    const PairBatches batches(pairs, {{8, 4}}, kSpecials, 3, PairBatches::BatchOrder::kShuffled);
    const PairBatch batch = batches.padding_batch(0);
    CHECK(batch.num_targets == 0);
    CHECK(batch.pair_ids.empty());
    CHECK(batch.source == TokenIds(32, 0));
    CHECK(batch.target_inputs == TokenIds(32, 0));
    CHECK(batch.targets == TokenIds(32, kIgnoredTarget));
    CHECK(batch.target_lengths == std::vector<std::int32_t>(4, 0));
}

// By hand, with end: 5 pairs of 8, 1 of 12, 4 of 16. In two buckets 8 | 12, 16 pads 4 tokens, 8, 12 | 16
// pads 20.
TEST_CASE("buckets: the least padding") {
    PairTokens pairs;
    for (const std::size_t length : {7u, 15u, 7u, 11u, 15u, 7u, 7u, 15u, 7u, 15u}) {
        pairs.append(TokenIds(3, 9), TokenIds(length, 9));
    }
    using Buckets = std::vector<PairBucket>;
    CHECK(choose_buckets(pairs, {.batch_tokens = 64, .num_buckets = 2, .length_multiple = 4}) ==
          Buckets{{8, 8}, {16, 4}});
    CHECK(choose_buckets(pairs, {.batch_tokens = 64, .num_buckets = 9, .length_multiple = 4}) ==
          Buckets{{8, 8}, {12, 5}, {16, 4}});
    CHECK(choose_buckets(pairs, {.batch_tokens = 10, .num_buckets = 1, .length_multiple = 1}) ==
          Buckets{{16, 1}});
    CHECK(choose_buckets(pairs, {.batch_tokens = 64, .num_buckets = 8, .length_multiple = 16}) ==
          Buckets{{16, 4}});
}

// Reference: all ways to cut, tried one by one.
TEST_CASE("buckets: as good as the best of all cuts") {
    const PairTokens pairs = random_pairs(60, 9);
    const auto padded = [&](const std::vector<std::int64_t>& lengths) {
        std::int64_t tokens = 0;
        for (std::int64_t i = 0; i < pairs.num_pairs(); ++i) {
            const std::int64_t needed =
                std::max(std::ssize(pairs.source(i)), std::ssize(pairs.target(i))) + 1;
            tokens += *std::lower_bound(lengths.begin(), lengths.end(), needed);
        }
        return tokens;
    };
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t a = 2; a <= 10; ++a) {
        for (std::int64_t b = a; b <= 10; ++b) best = std::min(best, padded({a, b, 10}));
    }
    std::vector<std::int64_t> chosen;
    for (const auto& bucket :
         choose_buckets(pairs, {.batch_tokens = 64, .num_buckets = 3, .length_multiple = 1})) {
        chosen.push_back(bucket.length);
    }
    CHECK(chosen.size() == 3);
    CHECK(chosen.back() == 10);
    CHECK(padded(chosen) == best);
}

TEST_CASE("pair batches: what cannot be batched") {
    const PairTokens pairs = random_pairs(10, 20);
    const std::string message = error_of(ExitCode::kData, [&] {
        PairBatches(pairs, {{4, 4}}, kSpecials, 3, PairBatches::BatchOrder::kShuffled);
    });
    CHECK(message.find("the longest bucket has 4") != std::string::npos);
    CHECK(error_of(ExitCode::kData, [] { pair_specials(*make_byte_tokenizer()); }).find("padding") !=
          std::string::npos);
}
