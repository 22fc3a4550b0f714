#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "dataset/text/tokenizer.h"
#include "dataset/text/tokenizer_makers.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

class CharacterTokenizer final : public Tokenizer {
  public:
    CharacterTokenizer(std::vector<std::uint32_t> sorted, UnknownCharacters unknown)
        : characters_(std::move(sorted)), unknown_(unknown) {
        for (std::size_t i = 0; i < characters_.size() && characters_[i] < kDirect; ++i) {
            direct_[characters_[i]] = static_cast<TokenId>(i);
        }
    }

    std::string kind() const override { return "characters"; }
    std::int32_t vocabulary_size() const override {
        return known() + (unknown_ == UnknownCharacters::kToken ? 1 : 0);
    }
    SpecialTokens special() const override {
        return {.unknown = unknown_ == UnknownCharacters::kToken ? known() : -1};
    }

    TokenIds encode(std::string_view text) const override {
        const std::vector<std::uint32_t> points = code_points_of(text);
        TokenIds ids(points.size());
        for (std::size_t i = 0; i < points.size(); ++i) {
            ids[i] = id_of(points[i]);
            if (ids[i] < 0) refuse(points, i);
        }
        return ids;
    }

    std::string decode(std::span<const TokenId> ids) const override {
        std::string text;
        for (const TokenId id : ids) {
            check_id(id);
            append_utf8(text, id < known() ? characters_[static_cast<std::size_t>(id)] : kReplacement);
        }
        return text;
    }

    std::vector<TokenizerFile> files() const override {
        std::string all;
        for (const std::uint32_t c : characters_) append_utf8(all, c);
        const nlohmann::json description{
            {"kind", kind()}, {"characters", all}, {"unknown", unknown_ == UnknownCharacters::kToken}};
        return {{kTokenizerFileName, description.dump() + "\n"}};
    }

  private:
    static constexpr std::uint32_t kDirect = 256;  // code points found without a search

    TokenId known() const { return static_cast<TokenId>(characters_.size()); }

    TokenId id_of(std::uint32_t c) const {
        if (c < kDirect) return direct_[c] >= 0 ? direct_[c] : special().unknown;
        const auto found = std::lower_bound(characters_.begin(), characters_.end(), c);
        if (found == characters_.end() || *found != c) return special().unknown;
        return static_cast<TokenId>(found - characters_.begin());
    }

    [[noreturn]] void refuse(const std::vector<std::uint32_t>& points, std::size_t at) const {
        const auto line =
            std::count(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(at), std::uint32_t{'\n'});
        char code[16];
        std::snprintf(code, sizeof code, "U+%04X", points[at]);
        std::string shown;
        if (points[at] >= 0x20 && points[at] != 0x7f) {
            append_utf8(shown, points[at]);
            shown = " '" + shown + "'";
        }
        throw Error(ExitCode::kData,
                    "character " + std::string(code) + shown + " at line " + std::to_string(line + 1) +
                        " is not among the characters of the training text, which are all that "
                        "the model knows; change it, or train with data.tokenizer: bytes");
    }

    std::vector<std::uint32_t> characters_;  // ascending
    UnknownCharacters unknown_;
    std::vector<TokenId> direct_ = std::vector<TokenId>(kDirect, -1);
};

}  // namespace

std::unique_ptr<Tokenizer> make_character_tokenizer(std::string_view training_text,
                                                    UnknownCharacters unknown) {
    std::vector<bool> seen(0x110000);
    for (const std::uint32_t c : code_points_of(training_text)) seen[c] = true;
    std::vector<std::uint32_t> sorted;
    for (std::uint32_t c = 0; c < seen.size(); ++c) {
        if (seen[c]) sorted.push_back(c);
    }
    if (sorted.empty())
        throw Error(ExitCode::kData, "the training text is empty: no character to make a vocabulary of");
    return std::make_unique<CharacterTokenizer>(std::move(sorted), unknown);
}

std::unique_ptr<Tokenizer> character_tokenizer_from(const nlohmann::json& description,
                                                    const std::string& origin) {
    const auto characters = description.find("characters");
    const auto unknown = description.find("unknown");
    if (characters == description.end() || !characters->is_string() || unknown == description.end() ||
        !unknown->is_boolean()) {
        throw Error(ExitCode::kData,
                    origin + ": \"characters\" (text) or \"unknown\" (true, false) is missing");
    }
    std::vector<std::uint32_t> points = code_points_of(characters->get<std::string>());
    // Strictly ascending, or ids would not be unique.
    if (points.empty() ||
        std::adjacent_find(points.begin(), points.end(), std::greater_equal<>()) != points.end()) {
        throw Error(ExitCode::kData,
                    origin + ": \"characters\" must be ascending by code point, without repeats");
    }
    return std::make_unique<CharacterTokenizer>(
        std::move(points), unknown->get<bool>() ? UnknownCharacters::kToken : UnknownCharacters::kRefuse);
}

}  // namespace mpt
