// Sentence pairs for an encoder-decoder: one vocabulary for both sides, batches by number of tokens, a shape
// for each bucket of lengths.
#include "train/pair_run_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "core/clock.h"
#include "core/error.h"
#include "core/philox.h"
#include "dataset/text/pair_batches.h"
#include "dataset/text/text_file.h"
#include "train/run_setup.h"
#include "train/text_tokenizer.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSyntheticVocabulary = 32000;
constexpr std::int64_t kSyntheticLength = 32;
constexpr std::int64_t kLengthMultiple = 4;

struct Pairs {
    PairTokens train, validation;
    std::vector<std::string> validation_sources, validation_references;  // text, for BLEU
    std::shared_ptr<const Tokenizer> tokenizer;                          // null when only numbers are known
    PairSpecials specials;
    std::int64_t vocabulary = 0;
    std::string origin;
    bool is_synthetic = false;
    double characters_per_target = 0, bytes_per_target = 0;
    std::vector<std::string> warnings, findings;
};

// Both sides as long as a batch is wide, once the end or the begin is added.
PairTokens synthetic_pairs(std::int64_t count, std::int64_t length, std::int64_t vocabulary,
                           std::uint64_t seed) {
    PairTokens pairs;
    RandomStream random(seed, RandomPurpose::kSynthetic, 0);
    TokenIds source(static_cast<std::size_t>(length - 1)), target(source.size());
    for (std::int64_t i = 0; i < count; ++i) {
        for (TokenIds* side : {&source, &target})
            for (TokenId& id : *side)
                id = 4 + static_cast<TokenId>(random.below(static_cast<std::uint32_t>(vocabulary - 4)));
        pairs.append(source, target);
    }
    return pairs;
}

Pairs make_synthetic(const RunConfig& config) {
    Pairs pairs;
    pairs.origin = "synthetic";
    pairs.is_synthetic = true;
    pairs.vocabulary = config.model.vocabulary_size.value_or(kSyntheticVocabulary);
    pairs.specials = {0, 2, 3};
    const std::int64_t length =
        std::max<std::int64_t>(config.data.sequence_length.value_or(kSyntheticLength), 2);
    const DataConfig& data = config.data;
    const std::int64_t count = std::min(data.num_samples, data.train_limit.value_or(data.num_samples));
    const std::int64_t held_back = std::max<std::int64_t>(data.num_samples / 5, 1);
    pairs.train = synthetic_pairs(count, length, pairs.vocabulary, config.seed);
    pairs.validation = synthetic_pairs(std::min(held_back, data.eval_limit.value_or(held_back)), length,
                                       pairs.vocabulary, config.seed + 1);
    pairs.warnings = {"the sentence pairs are synthetic: a loss on them means nothing"};
    return pairs;
}

ParallelText read_pairs(const std::string& path, const std::string& source, const std::string& target) {
    return path.empty() ? ParallelText::from_files(source, target) : ParallelText::from_tsv(path);
}

std::vector<ParallelText::Pair> first_of(std::vector<ParallelText::Pair> pairs,
                                         const std::optional<std::int64_t>& limit) {
    if (limit && static_cast<std::size_t>(*limit) < pairs.size())
        pairs.resize(static_cast<std::size_t>(*limit));
    return pairs;
}

// Of the pairs that are evaluated, and of as much of them as is: long ones may be left out or cut.
void measure_targets(Pairs& pairs) {
    double characters = 0, bytes = 0, targets = 0;
    for (std::int64_t i = 0; i < pairs.validation.num_pairs(); ++i) {
        const auto target = pairs.validation.target(i);
        const std::string text = pairs.tokenizer->decode(target);
        characters += static_cast<double>(num_characters(text));
        bytes += static_cast<double>(text.size());
        targets += static_cast<double>(target.size()) + 1;  // the end
    }
    pairs.characters_per_target = characters / std::max(targets, 1.0);
    pairs.bytes_per_target = bytes / std::max(targets, 1.0);
}

// Training or validation pairs: what messages call them, and where they come from.
struct PairPart {
    const char* name;
    std::string origin;
    std::vector<ParallelText::Pair> pairs;
};

void check_not_empty(const PairPart& part, const DataConfig& data) {
    if (!part.pairs.empty()) return;
    throw Error(ExitCode::kData,
                fmt::format("{}: there are no {}; change data.validation_fraction ({}), or name files to "
                            "evaluate on with data.validation_path",
                            part.origin, part.name, data.validation_fraction));
}

std::string length_finding(const char* part, const PairTokens& tokens) {
    std::int64_t longest[2] = {0, 0}, total[2] = {0, 0};
    for (std::int64_t i = 0; i < tokens.num_pairs(); ++i)
        for (const int side : {0, 1}) {
            const auto length =
                static_cast<std::int64_t>((side == 0 ? tokens.source(i) : tokens.target(i)).size());
            total[side] += length;
            longest[side] = std::max(longest[side], length);
        }
    return fmt::format("{}: {} source and {} target tokens, at most {} and {} in a sentence", part, total[0],
                       total[1], longest[0], longest[1]);
}

PairTokens encode_part(Pairs& all, const PairPart& part, const LengthLimit& limit) {
    EncodedPairs encoded = encode_pairs(part.pairs, *all.tokenizer, *all.tokenizer, limit, part.origin);
    const LoadReport& report = encoded.report;
    const std::string line = std::string(part.name) + ": " + to_string(report, limit);
    if (report.truncated + report.skipped + report.empty > 0) all.warnings.push_back(line);
    all.findings.push_back(line);
    all.findings.push_back(length_finding(part.name, encoded.tokens));
    return std::move(encoded.tokens);
}

Pairs encode_text(const RunConfig& config, PairPart train, PairPart validation,
                  std::shared_ptr<const Tokenizer> trained) {
    const DataConfig& data = config.data;
    if (config.model.context < 2)
        throw Error(ExitCode::kUsage,
                    "model.context: 1 holds no token beside the end of a sentence; an "
                    "encoder-decoder takes at least 2");
    for (const PairPart* part : {&train, &validation}) check_not_empty(*part, data);
    train.pairs = first_of(std::move(train.pairs), data.train_limit);
    validation.pairs = first_of(std::move(validation.pairs), data.eval_limit);
    std::vector<std::string> lines;
    for (const ParallelText::Pair& pair : train.pairs) {
        lines.emplace_back(pair.source);
        lines.emplace_back(pair.target);
    }
    Pairs pairs;
    pairs.origin = train.origin;
    pairs.tokenizer =
        trained != nullptr ? std::move(trained) : open_pair_tokenizer(data, lines, train.origin);
    pairs.specials = pair_specials(*pairs.tokenizer);
    pairs.vocabulary = vocabulary_of(config.model, pairs.tokenizer.get(), 0);
    const LengthLimit limit{
        std::min(data.max_tokens, config.model.context - 1),
        data.long_lines == LongLinesPolicy::kSkip ? LongLines::kSkip : LongLines::kTruncate};
    pairs.train = encode_part(pairs, train, limit);
    pairs.validation = encode_part(pairs, validation, limit);
    measure_targets(pairs);
    for (const ParallelText::Pair& pair : validation.pairs) {
        pairs.validation_sources.emplace_back(pair.source);
        pairs.validation_references.emplace_back(pair.target);
    }
    return pairs;
}

Pairs read_parallel(const RunConfig& config, std::shared_ptr<const Tokenizer> trained) {
    const DataConfig& data = config.data;
    const ParallelText text = read_pairs(data.path, data.source_path, data.target_path);
    constexpr const char* kTraining = "training pairs";
    constexpr const char* kValidation = "validation pairs";
    if (data.validation_path.empty() && data.validation_source_path.empty()) {
        const auto part = [&](PairSide side) {
            return select_pairs(text.pairs(), side, data.validation_fraction);
        };
        return encode_text(config, {kTraining, text.origin(), part(PairSide::kTrain)},
                           {kValidation, text.origin() + ", validation part", part(PairSide::kValidation)},
                           std::move(trained));
    }
    const ParallelText validation =
        read_pairs(data.validation_path, data.validation_source_path, data.validation_target_path);
    return encode_text(config, {kTraining, text.origin(), text.pairs()},
                       {kValidation, validation.origin(), validation.pairs()}, std::move(trained));
}

Pairs open_pairs(const RunConfig& config, std::shared_ptr<const Tokenizer> trained) {
    const DataConfig& data = config.data;
    if (data.type == DataType::kSynthetic) return make_synthetic(config);
    const std::string& first = data.path.empty() ? data.source_path : data.path;
    if (!first.empty() && fs::exists(first)) return read_parallel(config, std::move(trained));
    if (data.if_missing == IfMissing::kError)
        throw Error(ExitCode::kData, first +
                                         ": there is no such file; data/README.md says where the data of "
                                         "the shipped configs comes from (scripts/prepare_text.sh makes "
                                         "data/kjv and data/de-en; Multi30k and WMT14 must be fetched), "
                                         "data.if_missing: synthetic trains on random tokens");
    Pairs pairs = make_synthetic(config);
    pairs.warnings = {(first.empty() ? "data.path is not set" : first + ": not there") +
                      "; using random sentence pairs: a loss on them means nothing"};
    return pairs;
}

BatchShape shape_of(const PairBucket& bucket) {
    return {.rows = bucket.rows, .length = bucket.length, .source_length = bucket.length};
}

// One batch in the graph's terms.
struct FeedBatch {
    PairBatch pairs;
    MicroBatch batch;

    explicit FeedBatch(PairBatch given) : pairs(std::move(given)) {
        batch.shape = {.rows = pairs.rows, .length = pairs.length, .source_length = pairs.length};
        batch.weight = pairs.num_targets;
        batch.inputs = {graph_input<TokenId>("source", pairs.source),
                        graph_input<std::int32_t>("source_lengths", pairs.source_lengths),
                        graph_input<TokenId>("target", pairs.target_inputs),
                        graph_input<TokenId>("targets", pairs.targets)};
    }
};

// A window is `accumulate` batches, those that are left at the end of an epoch.
class PairFeed : public BatchFeed {
  public:
    PairFeed(PairBatches batches, std::int64_t accumulate, const StreamPosition& start,
             std::int64_t end_epoch)
        : batches_(std::move(batches)),
          accumulate_(accumulate),
          at_{start.epoch, start.offset},
          end_epoch_(end_epoch) {
        if (at_.batch >= batches_.num_batches()) at_ = {at_.epoch + 1, 0};
    }

    FeedItem next() override {
        const double begin = now_seconds();
        if (index_ == window_.size() && !fill_window()) return {};
        FeedItem item;
        item.batch = &window_[index_]->batch;
        item.window_weight = window_weight_;
        item.micro_index = static_cast<std::int64_t>(index_++);
        item.num_micro = static_cast<std::int64_t>(window_.size());
        item.epoch = window_epoch_;
        item.after = {at_.epoch, at_.batch};
        item.wait_ms = 1000 * (now_seconds() - begin);
        return item;
    }

  private:
    bool fill_window() {
        window_.clear();
        window_weight_ = 0;
        index_ = 0;
        window_epoch_ = at_.epoch;
        if (end_epoch_ >= 0 && at_.epoch >= end_epoch_) return false;
        for (std::int64_t m = 0; m < accumulate_ && at_.epoch == window_epoch_; ++m) {
            window_.push_back(std::make_unique<FeedBatch>(batches_.batch(at_)));
            window_weight_ += window_.back()->batch.weight;
            at_ = batches_.after(at_);
        }
        return true;
    }

    PairBatches batches_;
    std::int64_t accumulate_;
    PairPosition at_;
    std::int64_t end_epoch_;
    std::vector<std::unique_ptr<FeedBatch>> window_;
    std::size_t index_ = 0;
    std::int64_t window_weight_ = 0;
    std::int64_t window_epoch_ = 0;
};

}  // namespace

struct PairRunData::State {
    RunConfig config;
    Pairs pairs;
    std::vector<PairBucket> train_buckets, validation_buckets;

    State(const RunConfig& c, std::shared_ptr<const Tokenizer> trained)
        : config(c), pairs(open_pairs(c, std::move(trained))) {
        const BucketOptions options{std::max<std::int64_t>(c.train.batch_tokens / c.train.accumulate, 1),
                                    c.data.buckets, kLengthMultiple};
        train_buckets = choose_buckets(pairs.train, options);
        validation_buckets = choose_buckets(pairs.validation, options);
    }
    PairBatches batches(const PairTokens& tokens, const std::vector<PairBucket>& buckets,
                        PairBatches::BatchOrder order) const {
        return PairBatches(tokens, buckets, pairs.specials, config.seed, order);
    }
    PairBatches training() const {
        return batches(
            pairs.train, train_buckets,
            config.data.shuffle ? PairBatches::BatchOrder::kShuffled : PairBatches::BatchOrder::kByLength);
    }
};

PairRunData::PairRunData(const RunConfig& config, std::shared_ptr<const Tokenizer> trained)
    : state_(std::make_unique<State>(config, std::move(trained))) {
    const State& s = *state_;
    warnings = s.pairs.warnings;
    DataDescription& d = description;
    d.vocabulary = s.pairs.vocabulary;
    d.micro_batch = shape_of(*std::ranges::max_element(
        s.train_buckets, {}, [](const PairBucket& bucket) { return bucket.rows * bucket.length; }));
    const std::int64_t batches = s.training().num_batches();
    d.updates_per_epoch = (batches + config.train.accumulate - 1) / config.train.accumulate;
    d.total_updates = config.train.steps.value_or(config.train.epochs.value_or(1) * d.updates_per_epoch);
    d.host_bytes = s.pairs.train.memory_bytes() + s.pairs.validation.memory_bytes();
}

PairRunData::~PairRunData() = default;

std::string PairRunData::summary() const {
    const State& s = *state_;
    std::string lengths;
    for (const PairBucket& bucket : s.train_buckets)
        lengths += fmt::format("{}{}x{}", lengths.empty() ? "" : " ", bucket.rows, bucket.length);
    return fmt::format("{} training and {} validation pairs, vocabulary of {}, batches of {}, {}",
                       s.pairs.train.num_pairs(), s.pairs.validation.num_pairs(), s.pairs.vocabulary, lengths,
                       s.pairs.origin);
}

std::vector<std::string> PairRunData::findings() const {
    const State& s = *state_;
    std::vector<std::string> lines = s.pairs.findings;
    const auto num_batches = [&](const PairTokens& tokens, const std::vector<PairBucket>& buckets) {
        return s.batches(tokens, buckets, PairBatches::BatchOrder::kByLength).num_batches();
    };
    lines.push_back(fmt::format("an epoch: {} updates, {} batches of at most {} tokens a side",
                                description.updates_per_epoch, num_batches(s.pairs.train, s.train_buckets),
                                s.config.train.batch_tokens / s.config.train.accumulate));
    lines.push_back(
        fmt::format("an evaluation: {} batches", num_batches(s.pairs.validation, s.validation_buckets)));
    return lines;
}

DataIdentity PairRunData::identity() const {
    const Pairs& pairs = state_->pairs;
    if (pairs.is_synthetic) return {{pairs.train.num_pairs(), 0}, {}};
    return {{pairs.train.num_pairs(), pairs.train.fingerprint()},
            {pairs.validation.num_pairs(), pairs.validation.fingerprint()}};
}
RunTokenizers PairRunData::tokenizers() const {
    return {state_->pairs.tokenizer, state_->pairs.tokenizer};
}
double PairRunData::characters_per_target() const {
    return state_->pairs.characters_per_target;
}
double PairRunData::bytes_per_target() const {
    return state_->pairs.bytes_per_target;
}
std::span<const std::string> PairRunData::validation_sources() const {
    return state_->pairs.validation_sources;
}
std::span<const std::string> PairRunData::validation_references() const {
    return state_->pairs.validation_references;
}

std::vector<BatchShape> PairRunData::training_shapes(const StreamPosition&) const {
    std::vector<BatchShape> shapes;
    for (const PairBucket& bucket : state_->train_buckets) shapes.push_back(shape_of(bucket));
    return shapes;
}

std::vector<BatchShape> PairRunData::evaluation_shapes() const {
    std::vector<BatchShape> shapes;
    for (const PairBucket& bucket : state_->validation_buckets) shapes.push_back(shape_of(bucket));
    return shapes;
}

std::unique_ptr<BatchFeed> PairRunData::training_feed(const StreamPosition& start) const {
    return std::make_unique<PairFeed>(state_->training(), state_->config.train.accumulate, start, -1);
}

std::unique_ptr<BatchFeed> PairRunData::evaluation_feed() const {
    const State& s = *state_;
    return std::make_unique<PairFeed>(
        s.batches(s.pairs.validation, s.validation_buckets, PairBatches::BatchOrder::kByLength), 1,
        StreamPosition{}, 1);
}

std::unique_ptr<RunData> open_pair_data(const RunConfig& config, std::shared_ptr<const Tokenizer> trained) {
    return std::make_unique<PairRunData>(config, std::move(trained));
}

}  // namespace mpt
