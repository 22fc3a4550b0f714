// Tokenizers: text to ids and back. A new kind is one .cpp with a maker below and a line in load_tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpt {

using TokenId = std::int32_t;
using TokenIds = std::vector<TokenId>;

// -1 where a vocabulary has none.
struct SpecialTokens {
    TokenId padding = -1, unknown = -1, begin = -1, end = -1;
    bool operator==(const SpecialTokens&) const = default;
};

// What a tokenizer writes into a checkpoint.
struct TokenizerFile {
    std::string name;
    std::string bytes;
};

class Tokenizer {
  public:
    virtual ~Tokenizer() = default;
    Tokenizer(const Tokenizer&) = delete;
    Tokenizer& operator=(const Tokenizer&) = delete;

    virtual std::string kind() const = 0;  // the word in configs, logs and files: "bytes", "characters", ...
    virtual std::int32_t vocabulary_size() const = 0;
    virtual SpecialTokens special() const = 0;
    // No special tokens are added, and none are recognised inside the text. Safe from many threads.
    // Throws Error(kData) where the text is not UTF-8 (bytes take anything) or cannot be expressed.
    virtual TokenIds encode(std::string_view text) const = 0;
    // Special tokens give no text. Bytes and GPT-2 tokens may end inside a UTF-8 character.
    // An id outside the vocabulary is an Error(kData).
    virtual std::string decode(std::span<const TokenId> ids) const = 0;
    // Everything load_tokenizer needs: tokenizer.json, and the vocabulary in the format others read, too.
    virtual std::vector<TokenizerFile> files() const = 0;

  protected:
    Tokenizer() = default;
    // Throws unless 0 <= id < vocabulary_size().
    void check_id(TokenId id) const;
};

// 256 ids, one a byte.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// What encode does with a character that the vocabulary lacks: refuse it by name, or take the token
// "unknown", which is the last id and decodes to U+FFFD.
enum class UnknownCharacters { kRefuse, kToken };
// Ids are the places of the characters of `training_text` in order of their code points.
std::unique_ptr<Tokenizer> make_character_tokenizer(std::string_view training_text,
                                                    UnknownCharacters unknown = UnknownCharacters::kRefuse);

// OpenAI's encoder.json and vocab.bpe. begin and end are <|endoftext|>, if there is one.
std::unique_ptr<Tokenizer> open_gpt2_tokenizer(const std::string& encoder_path,
                                               const std::string& merges_path);

enum class SentencePieceModel { kBpe, kUnigram };
struct SentencePieceOptions {
    SentencePieceModel model = SentencePieceModel::kBpe;
    std::int32_t vocabulary_size = 8000;     // the four special tokens included
    double character_coverage = 1.0;         // the rest becomes "unknown"
    std::string normalization = "nmt_nfkc";  // or nfkc, nmt_nfkc_cf (lower-cased), identity, ...
};
// Learns from `lines` (without line ends) on one thread, so that the model depends on nothing but its input.
// Padding, unknown, begin, end are 0, 1, 2, 3. Throws Error(kData), among others when the text is too small
// for the vocabulary.
std::unique_ptr<Tokenizer> train_sentencepiece_tokenizer(std::span<const std::string> lines,
                                                         const SentencePieceOptions& options);
std::unique_ptr<Tokenizer> open_sentencepiece_tokenizer(const std::string& model_path);

// Writes files() into a folder that exists. Throws Error(kResource).
void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder);
// Reads what save_tokenizer wrote. Throws Error(kData) naming the file.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder);

}  // namespace mpt
