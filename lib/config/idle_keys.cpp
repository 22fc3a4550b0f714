// Keys that were given and change nothing in this config: a warning each, or a person believes they work.
#include "config/idle_keys.h"

#include <string>
#include <string_view>

#include "config/key_kinds.h"
#include "config/suggest.h"

namespace mpt {
namespace {

using Test = bool (*)(const RunConfig&);
struct IdleRule {
    std::string_view path;
    Test is_idle;
    std::string_view why;  // behind "has no effect"
};

bool is_text(const RunConfig& c) {
    return c.model.is_text();
}
bool is_gpt(const RunConfig& c) {
    return c.model.type == ModelType::kGpt;
}
bool is_transformer(const RunConfig& c) {
    return c.model.type == ModelType::kTransformer;
}
// Random tokens or images cannot take the place of the files.
bool has_files(const RunConfig& c) {
    return c.data.type != DataType::kSynthetic && c.data.if_missing == IfMissing::kError;
}
bool needs_no_tokenizer_file(const RunConfig& c) {
    const TokenizerType otherwise =
        c.data.type == DataType::kText ? TokenizerType::kCharacters : TokenizerType::kGpt2;
    const TokenizerType tokenizer = c.data.tokenizer.value_or(otherwise);
    return c.data.type == DataType::kText &&
           (tokenizer == TokenizerType::kBytes || tokenizer == TokenizerType::kCharacters);
}
bool has_validation_files(const RunConfig& c) {
    return !c.data.validation_path.empty() || !c.data.validation_source_path.empty();
}

constexpr std::string_view kPictures = "on text; it is for pictures";
constexpr std::string_view kLoader = "on text, whose batches the training thread makes";
constexpr std::string_view kRandomWindows = "with model.type gpt, whose windows are drawn at random";

const IdleRule kRules[] = {
    {"train.batch_size", is_transformer,
     "with model.type transformer, whose batches are counted in tokens; set train.batch_tokens"},
    {"train.eval_batch_size", is_transformer,
     "with model.type transformer, whose batches are counted in tokens; set train.batch_tokens"},
    {"data.num_samples", has_files,
     "on files; it is for synthetic data, data.train_limit takes the first samples of files"},
    {"data.tokenizer_path", needs_no_tokenizer_file, "with data.tokenizer bytes or characters"},
    {"data.tokenizer",
     [](const RunConfig& c) { return c.data.type == DataType::kTokens && c.data.tokenizer_path.empty(); },
     "on token files without data.tokenizer_path; they are read as the numbers they hold"},
    {"data.sentencepiece_size", learns_no_pieces,
     "unless a SentencePiece vocabulary is learned: data.tokenizer sentencepiece without tokenizer_path"},
    {"data.validation_fraction", has_validation_files, "beside validation files"},
    {"data.sequence_length", [](const RunConfig& c) { return is_transformer(c) && has_files(c); },
     "on sentence pairs, which have their own lengths; data.max_tokens limits them"},
    {"data.shuffle", is_gpt, kRandomWindows},
    {"data.drop_last", is_gpt, kRandomWindows},
    {"data.drop_last", is_transformer, "on sentence pairs; each is trained on once an epoch"},
    {"data.workers", is_text, kLoader},
    {"data.prefetch", is_text, kLoader},
    {"data.image_size", is_text, kPictures},
    {"data.channels", is_text, kPictures},
    {"data.augment.crop_padding", is_text, kPictures},
    {"data.augment.horizontal_flip", is_text, kPictures},
    {"data.augment.normalize", is_text, kPictures},
    {"translation.limit", [](const RunConfig& c) { return is_transformer(c) && !c.translation.bleu; },
     "with translation.bleu false: no evaluation translates"},
    {"checkpoint.init_partial", [](const RunConfig& c) { return c.checkpoint.init_from.empty(); },
     "without checkpoint.init_from"},
};

// Empty when the key matters.
std::string why_idle(const Key& key, const RunConfig& config) {
    if (!matters(key, config))
        return "with " + key.switch_path + " " + find_key(key.switch_path)->print(config) + "; it is for " +
               joined(key.switch_words);
    for (const IdleRule& rule : kRules)
        if (rule.path == key.path && rule.is_idle(config)) return std::string(rule.why);
    return "";
}

}  // namespace

bool learns_no_pieces(const RunConfig& c) {
    const bool pieces = c.data.tokenizer ? *c.data.tokenizer == TokenizerType::kSentencePiece
                                         : c.data.type == DataType::kParallel;
    return !pieces || !c.data.tokenizer_path.empty();
}

void warn_of_idle_keys(const GivenKeys& given, Faults& faults, const RunConfig& config) {
    for (const Key& key : all_keys()) {
        const auto place = given.places.find(key.path);
        if (place == given.places.end()) continue;
        const std::string why = why_idle(key, config);
        // The resolved config gives every key.
        if (why.empty() || key.print(config) == key.print(RunConfig{})) continue;
        faults.warn(place->second, key.path, "has no effect " + why);
    }
}

}  // namespace mpt
