#include <nlohmann/json.hpp>

#include "dataset/text/tokenizer.h"
#include "dataset/text/tokenizer_makers.h"

namespace mpt {
namespace {

class ByteTokenizer final : public Tokenizer {
  public:
    std::string kind() const override { return "bytes"; }
    std::int32_t vocabulary_size() const override { return 256; }
    SpecialTokens special() const override { return {}; }

    TokenIds encode(std::string_view text) const override {
        TokenIds ids;
        ids.reserve(text.size());
        for (const char c : text) ids.push_back(static_cast<std::uint8_t>(c));
        return ids;
    }

    std::string decode(std::span<const TokenId> ids) const override {
        std::string text;
        for (const TokenId id : ids) {
            check_id(id);
            text.push_back(static_cast<char>(id));
        }
        return text;
    }

    std::vector<TokenizerFile> files() const override {
        return {{kTokenizerFileName, nlohmann::json{{"kind", kind()}}.dump() + "\n"}};
    }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
    return std::make_unique<ByteTokenizer>();
}

}  // namespace mpt
