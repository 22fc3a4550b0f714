#include "dataset/text/pair_batches.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/philox.h"

namespace mpt {
namespace {

std::int64_t length_of(const PairTokens& pairs, std::int64_t pair) {
    return static_cast<std::int64_t>(std::max(pairs.source(pair).size(), pairs.target(pair).size())) + 1;
}

template <typename T>
void shuffle(std::span<T> items, RandomStream& random) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

// Where to cut ascending (length, pairs) into at most `num_groups` groups, each as long as its last, such
// that the padded tokens are the fewest: the last places of the groups. Dynamic programming over prefixes.
std::vector<std::size_t> cheapest_cuts(const std::vector<std::pair<std::int64_t, std::int64_t>>& lengths,
                                       std::size_t num_groups) {
    struct Best {
        std::int64_t tokens = 0;
        std::size_t previous_end = 0;  // of the groups before
    };
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    const std::size_t n = lengths.size();
    num_groups = std::min(num_groups, n);
    std::vector<std::vector<Best>> best(num_groups + 1, std::vector<Best>(n + 1, {kNone, 0}));
    best[0][0].tokens = 0;
    for (std::size_t g = 1; g <= num_groups; ++g) {
        for (std::size_t end = g; end <= n; ++end) {
            std::int64_t count = 0;
            for (std::size_t begin = end; begin-- > 0;) {
                count += lengths[begin].second;
                if (best[g - 1][begin].tokens == kNone) continue;
                const std::int64_t tokens = best[g - 1][begin].tokens + count * lengths[end - 1].first;
                if (tokens < best[g][end].tokens) best[g][end] = {tokens, begin};
            }
        }
    }
    // More groups are never worse, so all of them are used.
    std::vector<std::size_t> lasts(num_groups);
    for (std::size_t g = num_groups, end = n; g > 0; end = best[g--][end].previous_end)
        lasts[g - 1] = end - 1;
    return lasts;
}

}  // namespace

std::vector<PairBucket> choose_buckets(const PairTokens& pairs, const BucketOptions& options) {
    MPT_CHECK(options.batch_tokens >= 1 && options.num_buckets >= 1 && options.length_multiple >= 1);
    std::map<std::int64_t, std::int64_t> pairs_of_length;  // rounded up
    for (std::int64_t i = 0; i < pairs.num_pairs(); ++i) {
        const std::int64_t m = options.length_multiple;
        ++pairs_of_length[(length_of(pairs, i) + m - 1) / m * m];
    }
    const std::vector<std::pair<std::int64_t, std::int64_t>> lengths(pairs_of_length.begin(),
                                                                     pairs_of_length.end());
    std::vector<PairBucket> buckets;
    for (const std::size_t last : cheapest_cuts(lengths, static_cast<std::size_t>(options.num_buckets))) {
        const std::int64_t length = lengths[last].first;
        buckets.push_back({length, std::max<std::int64_t>(options.batch_tokens / length, 1)});
    }
    return buckets;
}

PairSpecials pair_specials(const Tokenizer& tokenizer) {
    const SpecialTokens special = tokenizer.special();
    const auto require = [&](TokenId id, const char* name) {
        if (id < 0) {
            throw Error(ExitCode::kData, "the " + tokenizer.kind() + " vocabulary has no token for " + name +
                                             ", which sentence pairs need; train a SentencePiece vocabulary");
        }
        return id;
    };
    return {require(special.padding, "padding"), require(special.begin, "begin"),
            require(special.end, "end")};
}

PairBatches::PairBatches(const PairTokens& pairs, std::vector<PairBucket> buckets,
                         const PairSpecials& specials, std::uint64_t seed, BatchOrder order)
    : pairs_(pairs),
      buckets_(std::move(buckets)),
      specials_(specials),
      seed_(seed),
      order_(order),
      members_(buckets_.size()) {
    const auto shorter = [](const PairBucket& a, const PairBucket& b) { return a.length < b.length; };
    MPT_CHECK(!buckets_.empty() && std::is_sorted(buckets_.begin(), buckets_.end(), shorter));
    for (std::int64_t i = 0; i < pairs_.num_pairs(); ++i) {
        const PairBucket needed{length_of(pairs_, i), 0};
        const auto bucket = std::lower_bound(buckets_.begin(), buckets_.end(), needed, shorter);
        if (bucket == buckets_.end()) {
            throw Error(ExitCode::kData,
                        "pair " + std::to_string(i) + " needs " + std::to_string(needed.length) +
                            " tokens, the longest bucket has " + std::to_string(buckets_.back().length) +
                            "; limit the length of the pairs");
        }
        members_[static_cast<std::size_t>(bucket - buckets_.begin())].push_back(
            static_cast<std::uint32_t>(i));
    }
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        MPT_CHECK(buckets_[b].rows >= 1);
        num_batches_ +=
            (static_cast<std::int64_t>(members_[b].size()) + buckets_[b].rows - 1) / buckets_[b].rows;
    }
}

void PairBatches::plan_epoch(std::int64_t epoch) {
    if (epoch == planned_epoch_) return;
    order_pairs_.clear();
    planned_.clear();
    // Index 0 orders the samples of an epoch elsewhere; a batch of pairs draws from its own.
    RandomStream random(seed_, RandomPurpose::kShuffle, static_cast<std::uint64_t>(epoch), 1);
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
        const std::size_t begin = order_pairs_.size(), rows = static_cast<std::size_t>(buckets_[b].rows);
        order_pairs_.insert(order_pairs_.end(), members_[b].begin(), members_[b].end());
        if (order_ == BatchOrder::kShuffled) shuffle(std::span(order_pairs_).subspan(begin), random);
        for (std::size_t at = begin; at < order_pairs_.size(); at += rows) {
            planned_.push_back({b, at, std::min(rows, order_pairs_.size() - at)});
        }
    }
    if (order_ == BatchOrder::kShuffled) shuffle(std::span(planned_), random);
    planned_epoch_ = epoch;
}

PairBatch PairBatches::padding_batch(std::size_t bucket) const {
    MPT_CHECK(bucket < buckets_.size());
    PairBatch batch;
    batch.bucket = bucket;
    batch.rows = buckets_[bucket].rows;
    batch.length = buckets_[bucket].length;
    batch.source.assign(static_cast<std::size_t>(batch.rows * batch.length), specials_.padding);
    batch.target_inputs = batch.source;
    batch.targets.assign(batch.source.size(), kIgnoredTarget);
    batch.source_lengths.assign(static_cast<std::size_t>(batch.rows), 0);
    batch.target_lengths = batch.source_lengths;
    return batch;
}

void PairBatches::fill_row(PairBatch& batch, std::size_t row, std::int64_t pair) const {
    const auto source = pairs_.source(pair), target = pairs_.target(pair);
    const auto start = static_cast<std::ptrdiff_t>(row) * batch.length;
    *std::copy(source.begin(), source.end(), batch.source.begin() + start) = specials_.end;
    batch.target_inputs[static_cast<std::size_t>(start)] = specials_.begin;
    std::copy(target.begin(), target.end(), batch.target_inputs.begin() + start + 1);
    *std::copy(target.begin(), target.end(), batch.targets.begin() + start) = specials_.end;
    batch.source_lengths[row] = static_cast<std::int32_t>(source.size()) + 1;
    batch.target_lengths[row] = static_cast<std::int32_t>(target.size()) + 1;
    batch.num_source_tokens += batch.source_lengths[row];
    batch.num_targets += batch.target_lengths[row];
    batch.pair_ids.push_back(static_cast<std::uint32_t>(pair));
}

PairBatch PairBatches::batch(const PairPosition& position) {
    MPT_CHECK(position.epoch >= 0 && position.batch >= 0 && position.batch < num_batches_);
    plan_epoch(position.epoch);
    const PlannedBatch& planned = planned_[static_cast<std::size_t>(position.batch)];
    PairBatch batch = padding_batch(planned.bucket);
    for (std::size_t row = 0; row < planned.count; ++row)
        fill_row(batch, row, order_pairs_[planned.first + row]);
    return batch;
}

PairPosition PairBatches::after(const PairPosition& position) const {
    return position.batch + 1 < num_batches_ ? PairPosition{position.epoch, position.batch + 1}
                                             : PairPosition{position.epoch + 1, 0};
}

}  // namespace mpt
