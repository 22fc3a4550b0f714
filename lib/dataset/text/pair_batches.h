// Batches of sentence pairs by number of tokens: a bucket is a shape, so that a run compiles one plan for
// each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataset/text/parallel_text.h"
#include "dataset/text/token_windows.h"

namespace mpt {

// Shape of a batch: `rows` pairs, both sides up to `length` tokens, end (source) and begin or end (target)
// included.
struct PairBucket {
    std::int64_t length = 0, rows = 0;
    bool operator==(const PairBucket&) const = default;
};

struct BucketOptions {
    std::int64_t batch_tokens = 4096;  // rows * length is at most this, but a batch has one row at least
    std::int64_t num_buckets = 6;      // at most
    std::int64_t length_multiple = 8;  // lengths are rounded up to multiples
};

// The lengths that leave the least padding; the last takes the longest pair.
std::vector<PairBucket> choose_buckets(const PairTokens& pairs, const BucketOptions& options);

struct PairSpecials {
    TokenId padding = 0, begin = 0, end = 0;
};

// The specials of a tokenizer. Throws Error(kData) naming the first one that it lacks.
PairSpecials pair_specials(const Tokenizer& tokenizer);

struct PairBatch {
    std::size_t bucket = 0;
    std::int64_t rows = 0, length = 0;
    TokenIds source;         // (rows, length): tokens, end, padding
    TokenIds target_inputs;  // (rows, length): begin, tokens, padding
    TokenIds targets;        // (rows, length): tokens, end, then kIgnoredTarget
    std::vector<std::int32_t> source_lengths,
        target_lengths;                   // (rows), end or begin included; 0: a row of padding
    std::vector<std::uint32_t> pair_ids;  // of the rows that hold one
    std::int64_t num_targets = 0;         // that count: the batch's weight, 0 for nothing but padding
    std::int64_t num_source_tokens = 0;
};

// Where a run stands: batches of the epoch already consumed.
struct PairPosition {
    std::int64_t epoch = 0, batch = 0;
    bool operator==(const PairPosition&) const = default;
};

// Which pairs make which batch, as a function of (pairs, buckets, seed, epoch) alone: any batch of any epoch
// can be made, so a run resumes anywhere. Each pair is in exactly one batch of an epoch; the last batch of a
// bucket has rows of padding. `pairs` must outlive it.
class PairBatches {
  public:
    enum class BatchOrder { kShuffled, kByLength };

    // Throws Error(kData) when a pair is longer than the last bucket.
    PairBatches(const PairTokens& pairs, std::vector<PairBucket> buckets, const PairSpecials& specials,
                std::uint64_t seed, BatchOrder order);

    const std::vector<PairBucket>& buckets() const { return buckets_; }
    // The same in every epoch.
    std::int64_t num_batches() const { return num_batches_; }
    // Not const: it remembers the order of the last epoch asked for.
    PairBatch batch(const PairPosition& position);
    PairPosition after(const PairPosition& position) const;
    // Nothing but padding, for places that must be filled: a missing micro-batch, a rank without data.
    PairBatch padding_batch(std::size_t bucket) const;

  private:
    struct PlannedBatch {
        std::size_t bucket = 0;
        std::size_t first = 0, count = 0;  // in order_pairs_
    };
    void plan_epoch(std::int64_t epoch);
    void fill_row(PairBatch& batch, std::size_t row, std::int64_t pair) const;

    const PairTokens& pairs_;
    std::vector<PairBucket> buckets_;
    PairSpecials specials_;
    std::uint64_t seed_;
    BatchOrder order_;
    std::vector<std::vector<std::uint32_t>> members_;  // pairs of each bucket, ascending
    std::int64_t num_batches_ = 0;
    std::int64_t planned_epoch_ = -1;
    std::vector<std::uint32_t> order_pairs_;
    std::vector<PlannedBatch> planned_;
};

}  // namespace mpt
