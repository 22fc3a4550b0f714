// A language model's data: one long row of tokens to train on, one to evaluate on.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/available_memory.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/philox.h"
#include "dataset/text/text_file.h"
#include "dataset/text/token_windows.h"
#include "train/run_data.h"
#include "train/run_setup.h"
#include "train/text_tokenizer.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGpt2Vocabulary = 50257;

// The shards to train on, and those to evaluate on that are not a part of them.
struct ShardPaths {
    std::vector<std::string> train, validation;
};

struct Tokens {
    TokenStream train, validation;
    std::shared_ptr<const Tokenizer> tokenizer;  // null when only numbers are known
    std::int64_t vocabulary = 0;
    std::string origin;
    bool is_synthetic = false;
    double characters_per_target = 0, bytes_per_target = 0;  // of the validation part
    std::string warning;
    std::vector<std::string> findings;  // of text
    ShardPaths shards;                  // of token files
};

// Tokens that follow no rule: for throughput.
TokenStream synthetic_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
    TokenIds ids(static_cast<std::size_t>(count));
    RandomStream random(seed, RandomPurpose::kSynthetic, 0);
    for (TokenId& id : ids) id = static_cast<TokenId>(random.below(static_cast<std::uint32_t>(vocabulary)));
    return TokenStream::from_ids(std::move(ids));
}

std::int64_t count_token(const TokenStream& stream, TokenId wanted) {
    TokenIds some(1 << 16);
    std::int64_t count = 0;
    for (std::int64_t at = 0; at < stream.num_tokens(); at += static_cast<std::int64_t>(some.size())) {
        const std::int64_t left = stream.num_tokens() - at;
        some.resize(static_cast<std::size_t>(std::min<std::int64_t>(left, 1 << 16)));
        stream.copy(at, some);
        count += std::ranges::count(some, wanted);
    }
    return count;
}

Tokens make_synthetic(const RunConfig& config, std::int64_t length) {
    Tokens tokens;
    tokens.vocabulary = config.model.vocabulary_size.value_or(kGpt2Vocabulary);
    tokens.origin = "synthetic";
    tokens.is_synthetic = true;
    const std::int64_t windows = config.data.num_samples;
    tokens.train = synthetic_tokens(windows * length + 1, tokens.vocabulary, config.seed);
    const std::int64_t held_back = std::max<std::int64_t>(windows / 5, 1);
    tokens.validation = synthetic_tokens(held_back * length + 1, tokens.vocabulary, config.seed + 1);
    tokens.warning = "the tokens are synthetic: a loss on them means nothing";
    return tokens;
}

void measure_text(Tokens& tokens, std::string_view validation) {
    const auto count = static_cast<double>(std::max<std::int64_t>(tokens.validation.num_tokens(), 1));
    tokens.characters_per_target = static_cast<double>(num_characters(validation)) / count;
    tokens.bytes_per_target = static_cast<double>(validation.size()) / count;
}

// A part of a text and its tokens in a line.
std::string finding(const char* part, std::string_view text, const Tokens& all, const TokenStream& tokens) {
    std::int64_t lines = 0, empty = 0;
    for (std::size_t at = 0; at < text.size(); ++lines) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        empty += end == at;
        at = end + 1;
    }
    std::string line = fmt::format("{}: {} lines ({} empty), {} characters, {} bytes, {} tokens", part, lines,
                                   empty, num_characters(text), text.size(), tokens.num_tokens());
    if (const TokenId unknown = all.tokenizer->special().unknown; unknown >= 0)
        line += fmt::format(", {} of them unknown", count_token(tokens, unknown));
    return line;
}

// A character or byte is a token; of other tokenizers the count is not known before.
void check_tokens_fit(const Tokenizer& tokenizer, std::string_view text, const std::string& origin) {
    if (tokenizer.kind() != "bytes" && tokenizer.kind() != "characters") return;
    const auto count = tokenizer.kind() == "bytes" ? std::ssize(text) : num_characters(text);
    const std::int64_t need = static_cast<std::int64_t>(count) * static_cast<std::int64_t>(sizeof(TokenId));
    const AvailableMemory memory = available_memory();
    if (need > memory.bytes)
        throw Error(ExitCode::kResource, origin + ": its tokens take " + print_bytes(need) + ", there is " +
                                             print(memory) +
                                             "; take a smaller file, or token shards (data.type: tokens)");
}

// Encodes a part of the text; a failure names the file.
TokenStream encode_part(const Tokenizer& tokenizer, std::string_view text, const std::string& origin) {
    check_tokens_fit(tokenizer, text, origin);
    try {
        return TokenStream::from_ids(tokenizer.encode(text));
    } catch (const Error& error) {
        throw Error(error.code(), origin + ": " + error.what());
    }
}

Tokens read_text(const RunConfig& config, std::shared_ptr<const Tokenizer> trained) {
    const DataConfig& data = config.data;
    const std::string text = read_text_file(data.path);
    const std::string other = data.validation_path.empty() ? "" : read_text_file(data.validation_path);
    TextSplit split{text, other};
    if (data.validation_path.empty()) split = split_last(text, data.validation_fraction);
    Tokens tokens;
    tokens.origin = data.path;
    tokens.tokenizer = trained != nullptr ? std::move(trained)
                                          : open_text_tokenizer(data, other.empty() ? text : text + other,
                                                                split.train, data.path);
    tokens.vocabulary = vocabulary_of(config.model, tokens.tokenizer.get(), 0);
    tokens.train = encode_part(*tokens.tokenizer, split.train, data.path);
    tokens.validation =
        encode_part(*tokens.tokenizer, split.validation,
                    data.validation_path.empty() ? data.path + ", validation part" : data.validation_path);
    measure_text(tokens, split.validation);
    tokens.findings = {finding("training part", split.train, tokens, tokens.train),
                       finding("validation part", split.validation, tokens, tokens.validation)};
    return tokens;
}

// Of a folder that nanoGPT or llm.c wrote: val.bin, fineweb_val_000000.bin.
bool is_validation_file(const std::string& path) {
    const std::string name = fs::path(path).stem().string();
    return name.starts_with("val") || name.find("_val") != std::string::npos;
}

// Where the folder has both kinds, each apart.
ShardPaths shard_paths(const std::string& path) {
    ShardPaths paths{token_shard_paths(path), {}};
    const auto end = std::ranges::stable_partition(paths.train, std::not_fn(is_validation_file)).begin();
    if (end == paths.train.begin()) return paths;
    paths.validation.assign(end, paths.train.end());
    paths.train.erase(end, paths.train.end());
    return paths;
}

Tokens read_token_files(const RunConfig& config, std::shared_ptr<const Tokenizer> trained) {
    const DataConfig& data = config.data;
    Tokens tokens;
    tokens.origin = data.path;
    tokens.tokenizer = trained != nullptr ? std::move(trained) : open_token_file_tokenizer(data);
    tokens.vocabulary = vocabulary_of(config.model, tokens.tokenizer.get(), kGpt2Vocabulary);
    const auto limit = static_cast<std::int32_t>(tokens.vocabulary);
    ShardPaths& shards = tokens.shards;
    shards = shard_paths(data.path);
    if (!data.validation_path.empty()) shards.validation = token_shard_paths(data.validation_path);
    tokens.train = open_token_shards(shards.train, limit);
    if (!shards.validation.empty()) {
        tokens.validation = open_token_shards(shards.validation, limit);
    } else {
        const std::int64_t count = tokens.train.num_tokens();
        const std::int64_t train = train_count(count, data.validation_fraction);
        tokens.validation = tokens.train.slice(train, count - train);
        tokens.train = tokens.train.slice(0, train);
    }
    if (tokens.tokenizer == nullptr) return tokens;
    TokenIds ids(static_cast<std::size_t>(std::min<std::int64_t>(tokens.validation.num_tokens(), 1 << 20)));
    tokens.validation.copy(0, ids);
    const std::string sample = tokens.tokenizer->decode(ids);
    tokens.characters_per_target =
        static_cast<double>(num_characters(sample)) / static_cast<double>(ids.size());
    tokens.bytes_per_target = static_cast<double>(sample.size()) / static_cast<double>(ids.size());
    return tokens;
}

Tokens open_tokens(const RunConfig& config, std::int64_t length, std::shared_ptr<const Tokenizer> trained) {
    const DataConfig& data = config.data;
    if (data.type == DataType::kSynthetic) return make_synthetic(config, length);
    if (!data.path.empty() && fs::exists(data.path))
        return data.type == DataType::kText ? read_text(config, std::move(trained))
                                            : read_token_files(config, std::move(trained));
    if (data.if_missing == IfMissing::kError)
        throw Error(ExitCode::kData, data.path + ": there is no such " +
                                         (data.type == DataType::kText ? "file" : "file or folder") +
                                         "; data/README.md says where the data of the shipped configs comes "
                                         "from (scripts/prepare_text.sh makes data/kjv and data/de-en), "
                                         "data.if_missing: synthetic trains on random tokens");
    Tokens tokens = make_synthetic(config, length);
    tokens.warning = (data.path.empty() ? "data.path is not set" : data.path + ": not there") +
                     "; using random tokens: a loss on them means nothing";
    return tokens;
}

void fill(MicroBatch& batch, const TokenBatch& tokens) {
    batch.shape = {.rows = tokens.rows, .length = tokens.length};
    batch.weight = tokens.num_targets;
    batch.inputs = {graph_input<TokenId>("tokens", tokens.inputs),
                    graph_input<TokenId>("targets", tokens.targets)};
}

// Windows drawn at random, anew for each update: its number is the position.
class RandomFeed : public BatchFeed {
  public:
    RandomFeed(const TokenStream& stream, const RunConfig& config, const WindowShape& shape,
               std::int64_t updates_per_epoch, const StreamPosition& start)
        : stream_(stream),
          seed_(config.seed),
          batch_size_(config.train.batch_size),
          accumulate_(config.train.accumulate),
          shape_(shape),
          updates_per_epoch_(updates_per_epoch),
          update_(start.epoch * updates_per_epoch + start.offset / batch_size_) {}

    FeedItem next() override {
        const double begin = now_seconds();
        tokens_ = random_windows(stream_, shape_, seed_, update_, micro_);
        fill(batch_, tokens_);
        FeedItem item;
        item.batch = &batch_;
        item.window_weight = batch_size_ * shape_.length;
        item.micro_index = micro_;
        item.num_micro = accumulate_;
        item.epoch = update_ / updates_per_epoch_;
        if (++micro_ == accumulate_) {
            ++update_;
            micro_ = 0;
        }
        item.after = {update_ / updates_per_epoch_, update_ % updates_per_epoch_ * batch_size_};
        item.wait_ms = 1000 * (now_seconds() - begin);
        return item;
    }

  private:
    const TokenStream& stream_;
    std::uint64_t seed_;
    std::int64_t batch_size_, accumulate_;
    WindowShape shape_;
    std::int64_t updates_per_epoch_;
    std::int64_t update_;
    std::int64_t micro_ = 0;
    TokenBatch tokens_;
    MicroBatch batch_;
};

// Windows one behind the other.
class SequentialFeed : public BatchFeed {
  public:
    SequentialFeed(const TokenStream& stream, const WindowShape& shape) : stream_(stream), shape_(shape) {}

    FeedItem next() override {
        FeedItem item;
        if (index_ == num_sequential_batches(stream_, shape_)) return item;
        tokens_ = sequential_windows(stream_, shape_, index_++);
        fill(batch_, tokens_);
        item.batch = &batch_;
        item.window_weight = batch_.weight;
        return item;
    }

  private:
    const TokenStream& stream_;
    WindowShape shape_;
    std::int64_t index_ = 0;
    TokenBatch tokens_;
    MicroBatch batch_;
};

class TokenRunData : public RunData {
  public:
    TokenRunData(const RunConfig& config, std::shared_ptr<const Tokenizer> trained)
        : config_(config),
          length_(config.data.sequence_length.value_or(config.model.context)),
          tokens_(open_tokens(config, length_, std::move(trained))) {
        if (!tokens_.warning.empty()) warnings.push_back(tokens_.warning);
        limit_training();
        check_window_fits(tokens_.train, length_, tokens_.origin + ", training part");
        limit_validation();
        DataDescription& d = description;
        d.vocabulary = tokens_.vocabulary;
        d.micro_batch = {.rows = config.train.micro_batch(), .length = length_};
        d.updates_per_epoch =
            std::max<std::int64_t>(tokens_.train.num_tokens() / (config.train.batch_size * length_), 1);
        d.total_updates = config.train.steps.value_or(config.train.epochs.value_or(1) * d.updates_per_epoch);
        d.host_bytes = tokens_.train.memory_bytes() + tokens_.validation.memory_bytes();
    }

    Unit unit() const override { return Unit::kTokens; }
    std::string summary() const override {
        return fmt::format("{} training and {} validation tokens, {} vocabulary of {}, {}",
                           tokens_.train.num_tokens(), tokens_.validation.num_tokens(),
                           tokens_.tokenizer ? tokens_.tokenizer->kind() : "unnamed", tokens_.vocabulary,
                           tokens_.origin);
    }
    std::vector<std::string> findings() const override;
    DataIdentity identity() const override {
        if (tokens_.is_synthetic) return {{tokens_.train.num_tokens(), 0}, {}};
        return {{tokens_.train.num_tokens(), tokens_.train.fingerprint()},
                {tokens_.validation.num_tokens(), tokens_.validation.fingerprint()}};
    }
    RunTokenizers tokenizers() const override { return {nullptr, tokens_.tokenizer}; }
    double characters_per_target() const override { return tokens_.characters_per_target; }
    double bytes_per_target() const override { return tokens_.bytes_per_target; }

    std::vector<BatchShape> training_shapes(const StreamPosition&) const override {
        return {description.micro_batch};
    }
    std::vector<BatchShape> evaluation_shapes() const override {
        const WindowShape shape = evaluation_shape();
        return {{.rows = shape.rows, .length = shape.length}};
    }
    std::unique_ptr<BatchFeed> training_feed(const StreamPosition& start) const override {
        return std::make_unique<RandomFeed>(tokens_.train, config_,
                                            WindowShape{config_.train.micro_batch(), length_},
                                            description.updates_per_epoch, start);
    }
    std::unique_ptr<BatchFeed> evaluation_feed() const override {
        return std::make_unique<SequentialFeed>(tokens_.validation, evaluation_shape());
    }

  private:
    WindowShape evaluation_shape() const { return {evaluation_batch(config_), length_}; }
    // The first so many windows, and the token behind the last one's.
    static void limit(TokenStream& stream, std::int64_t windows, std::int64_t length) {
        const std::int64_t wanted = windows * length + 1;
        if (wanted < stream.num_tokens()) stream = stream.slice(0, wanted);
    }
    // The first data.train_limit windows: the windows of an update start anywhere within them.
    void limit_training() {
        if (config_.data.train_limit) limit(tokens_.train, *config_.data.train_limit, length_);
    }
    // The first data.eval_limit windows; a validation part that is too short is refused.
    void limit_validation() {
        const std::string& path = config_.data.validation_path;
        check_window_fits(tokens_.validation, 1, path.empty() ? tokens_.origin + ", validation part" : path);
        if (config_.data.eval_limit) limit(tokens_.validation, *config_.data.eval_limit, length_);
    }

    RunConfig config_;
    std::int64_t length_;
    Tokens tokens_;
};

std::vector<std::string> TokenRunData::findings() const {
    std::vector<std::string> lines = tokens_.findings;
    const auto add_shards = [&](const char* part, const std::vector<std::string>& paths) {
        for (const std::string& path : paths)
            lines.push_back(fmt::format(
                "{}: {}: {} tokens", part, path,
                open_token_shards({path}, static_cast<std::int32_t>(tokens_.vocabulary)).num_tokens()));
    };
    add_shards("training part", tokens_.shards.train);
    add_shards("validation part", tokens_.shards.validation);
    const auto per_epoch = description.updates_per_epoch;
    lines.push_back(fmt::format("an epoch: {} updates of {} windows of {} tokens", per_epoch,
                                config_.train.batch_size, length_));
    const WindowShape shape = evaluation_shape();
    lines.push_back(fmt::format("an evaluation: {} batches of {} windows of {} tokens",
                                num_sequential_batches(tokens_.validation, shape), shape.rows, shape.length));
    return lines;
}

}  // namespace

std::unique_ptr<RunData> open_token_data(const RunConfig& config, std::shared_ptr<const Tokenizer> trained) {
    return std::make_unique<TokenRunData>(config, std::move(trained));
}

}  // namespace mpt
