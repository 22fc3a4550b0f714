#include "train/text_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/error.h"
#include "dataset/text/text_file.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

void need_path(const DataConfig& data, const char* what) {
    if (data.tokenizer_path.empty())
        throw Error(ExitCode::kUsage, std::string("data.tokenizer_path: missing; data.tokenizer ") +
                                          std::string(name_of(tokenizer_type(data))) + " needs " + what);
}

std::shared_ptr<const Tokenizer> open_gpt2(const DataConfig& data) {
    need_path(data, "the folder of encoder.json and vocab.bpe");
    const fs::path folder = data.tokenizer_path;
    return open_gpt2_tokenizer((folder / "encoder.json").string(), (folder / "vocab.bpe").string());
}

std::shared_ptr<const Tokenizer> open_sentencepiece(const DataConfig& data,
                                                    std::span<const std::string> lines,
                                                    const std::string& origin) {
    if (!data.tokenizer_path.empty()) return open_sentencepiece_tokenizer(data.tokenizer_path);
    SentencePieceOptions options;
    options.vocabulary_size = static_cast<std::int32_t>(data.sentencepiece_size);
    try {
        return train_sentencepiece_tokenizer(lines, options);
    } catch (const Error& error) {
        throw Error(error.code(), "data.sentencepiece_size: " + origin + ": " + error.what());
    }
}

}  // namespace

TokenizerType tokenizer_type(const DataConfig& data) {
    if (data.tokenizer) return *data.tokenizer;
    if (data.type == DataType::kTokens) return TokenizerType::kGpt2;
    return data.type == DataType::kParallel ? TokenizerType::kSentencePiece : TokenizerType::kCharacters;
}

std::shared_ptr<const Tokenizer> open_text_tokenizer(const DataConfig& data, std::string_view whole,
                                                     std::string_view training, const std::string& origin) {
    switch (tokenizer_type(data)) {
        case TokenizerType::kBytes:
            return make_byte_tokenizer();
        case TokenizerType::kCharacters:
            return make_character_tokenizer(whole);
        case TokenizerType::kGpt2:
            return open_gpt2(data);
        case TokenizerType::kSentencePiece:
            break;
    }
    std::vector<std::string> lines;
    for (const std::string_view line : lines_of(training)) lines.emplace_back(line);
    return open_sentencepiece(data, lines, origin);
}

std::shared_ptr<const Tokenizer> open_pair_tokenizer(const DataConfig& data,
                                                     std::span<const std::string> training_lines,
                                                     const std::string& origin) {
    if (tokenizer_type(data) != TokenizerType::kSentencePiece)
        throw Error(ExitCode::kUsage, "data.tokenizer: " + std::string(name_of(tokenizer_type(data))) +
                                          " has no tokens for the begin and the end of a sentence; pairs "
                                          "need sentencepiece");
    return open_sentencepiece(data, training_lines, origin);
}

std::shared_ptr<const Tokenizer> open_token_file_tokenizer(const DataConfig& data) {
    if (data.tokenizer_path.empty()) return nullptr;
    if (tokenizer_type(data) == TokenizerType::kGpt2) return open_gpt2(data);
    if (tokenizer_type(data) == TokenizerType::kSentencePiece)
        return open_sentencepiece_tokenizer(data.tokenizer_path);
    throw Error(
        ExitCode::kUsage,
        "data.tokenizer_path: token files were written with gpt2 or sentencepiece; set data.tokenizer "
        "to the one");
}

std::shared_ptr<const Tokenizer> tokenizer_of_checkpoint(const std::string& checkpoint) {
    const fs::path folder = fs::path(checkpoint) / "tokenizer";
    if (!fs::exists(folder)) return nullptr;
    try {
        return load_tokenizer(folder.string());
    } catch (const Error& error) {
        throw Error(ExitCode::kCheckpoint, std::string(error.what()) + "; take another checkpoint");
    }
}

std::int64_t vocabulary_of(const ModelConfig& model, const Tokenizer* tokenizer, std::int64_t otherwise) {
    const std::int64_t known = tokenizer != nullptr ? tokenizer->vocabulary_size() : otherwise;
    const std::int64_t wanted = model.vocabulary_size.value_or(known);
    if (tokenizer != nullptr && wanted < known)
        throw Error(ExitCode::kUsage, "model.vocabulary_size: " + std::to_string(wanted) +
                                          " is less than the " + std::to_string(known) +
                                          " tokens of the tokenizer; leave it out, or raise it");
    return wanted;
}

std::int64_t num_characters(std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace mpt
