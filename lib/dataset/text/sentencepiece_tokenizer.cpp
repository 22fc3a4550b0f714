#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.h"
#include "dataset/text/tokenizer.h"
#include "dataset/text/tokenizer_makers.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

namespace sp = sentencepiece;

// One line; SentencePiece puts a place in its source and a condition in brackets before its words, if it has
// any.
std::string reason_of(const sp::util::Status& status) {
    std::string text = status.error_message();
    const std::size_t bracket = text.rfind("] ");
    if (bracket != std::string::npos) text.erase(0, bracket + 2);
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.empty() ? "SentencePiece gives no reason" : text;
}

class SentencePieceTokenizer final : public Tokenizer {
  public:
    SentencePieceTokenizer(std::string model, const std::string& origin) : model_(std::move(model)) {
        const auto status = processor_.LoadFromSerializedProto(model_);
        if (!status.ok() || processor_.GetPieceSize() == 0) {
            throw Error(ExitCode::kData,
                        origin + ": is no SentencePiece model" + "; fetch or train it again");
        }
    }

    std::string kind() const override { return "sentencepiece"; }
    std::int32_t vocabulary_size() const override { return processor_.GetPieceSize(); }
    SpecialTokens special() const override {
        return {.padding = processor_.pad_id(),
                .unknown = processor_.unk_id(),
                .begin = processor_.bos_id(),
                .end = processor_.eos_id()};
    }

    TokenIds encode(std::string_view text) const override {
        check_utf8(text);
        std::vector<int> ids;
        check(processor_.Encode(text, &ids));
        return ids;
    }

    std::string decode(std::span<const TokenId> ids) const override {
        for (const TokenId id : ids) check_id(id);
        std::string text;
        check(processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text));
        return text;
    }

    std::vector<TokenizerFile> files() const override {
        return {{kTokenizerFileName, nlohmann::json{{"kind", kind()}}.dump() + "\n"},
                {kSentencePieceName, model_}};
    }

  private:
    static void check(const sp::util::Status& status) {
        if (!status.ok()) throw Error(ExitCode::kData, "SentencePiece: " + reason_of(status));
    }

    std::string model_;
    sp::SentencePieceProcessor processor_;
};

// SentencePiece leaves out longer lines without a word.
constexpr std::size_t kLongestLine = 4192;

// Lines, long ones in pieces that end where a word does.
class LineIterator final : public sp::SentenceIterator {
  public:
    explicit LineIterator(std::span<const std::string> lines) : lines_(lines) { cut(); }
    bool done() const override { return at_ >= lines_.size(); }
    void Next() override {
        begin_ = end_ + (end_ < lines_[at_].size() && lines_[at_][end_] == ' ');
        if (begin_ >= lines_[at_].size()) {
            ++at_;
            begin_ = 0;
        }
        cut();
    }
    const std::string& value() const override { return piece_; }
    sp::util::Status status() const override { return {}; }

  private:
    void cut() {
        if (done()) return;
        const std::string_view rest = std::string_view(lines_[at_]).substr(begin_);
        std::size_t length = rest.size();
        if (length > kLongestLine) {
            const std::size_t space = rest.rfind(' ', kLongestLine);
            length = space == std::string_view::npos || space == 0 ? utf8_prefix(rest, kLongestLine) : space;
        }
        end_ = begin_ + length;
        piece_ = rest.substr(0, length);
    }

    std::span<const std::string> lines_;
    std::size_t at_ = 0, begin_ = 0, end_ = 0;
    std::string piece_;
};

// What else the vocabulary could be, from SentencePiece's own words; empty when it was not its size.
std::string size_advice(const std::string& reason) {
    const std::size_t last = reason.find_last_of("0123456789");
    if (last == std::string::npos) return "";
    const std::size_t before = reason.find_last_not_of("0123456789", last);
    const std::size_t first = before == std::string::npos ? 0 : before + 1;
    const std::string number = reason.substr(first, last + 1 - first);
    if (reason.find("too high") != std::string::npos) return "the text supports at most " + number;
    if (reason.find("required_chars") != std::string::npos)
        return "its characters and the special tokens alone need " + number;
    return "";
}

std::unordered_map<std::string, std::string> trainer_arguments(const SentencePieceOptions& options) {
    return {{"model_type", options.model == SentencePieceModel::kBpe ? "bpe" : "unigram"},
            {"vocab_size", std::to_string(options.vocabulary_size)},
            {"character_coverage", std::to_string(options.character_coverage)},
            {"normalization_rule_name", options.normalization},
            {"pad_id", "0"},
            {"unk_id", "1"},
            {"bos_id", "2"},
            {"eos_id", "3"},
            {"num_threads", "1"},
            {"minloglevel", "4"}};  // it would print its progress
}

}  // namespace

std::unique_ptr<Tokenizer> train_sentencepiece_tokenizer(std::span<const std::string> lines,
                                                         const SentencePieceOptions& options) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (find_invalid_utf8(lines[i]) != std::string_view::npos) {
            throw Error(ExitCode::kData,
                        "line " + std::to_string(i + 1) + " is not UTF-8; convert it to UTF-8");
        }
    }
    std::string model;
    LineIterator iterator(lines);
    const auto status = sp::SentencePieceTrainer::Train(trainer_arguments(options), &iterator, &model);
    if (!status.ok()) {
        const std::string reason = reason_of(status), advice = size_advice(reason);
        throw Error(ExitCode::kData, "cannot train a SentencePiece vocabulary of " +
                                         std::to_string(options.vocabulary_size) + " on " +
                                         std::to_string(lines.size()) +
                                         " lines: " + (advice.empty() ? reason : advice));
    }
    return sentencepiece_tokenizer_from(std::move(model), "the trained model");
}

std::unique_ptr<Tokenizer> sentencepiece_tokenizer_from(std::string model, const std::string& origin) {
    return std::make_unique<SentencePieceTokenizer>(std::move(model), origin);
}

std::unique_ptr<Tokenizer> open_sentencepiece_tokenizer(const std::string& model_path) {
    return sentencepiece_tokenizer_from(file_bytes(model_path), model_path);
}

}  // namespace mpt
