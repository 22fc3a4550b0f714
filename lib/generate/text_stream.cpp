#include "generate/text_stream.h"

#include <algorithm>

#include "dataset/text/unicode.h"

namespace mpt {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;
constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";
constexpr std::size_t kMostPending = 4;  // no character has more bytes, and every token has one at least

// Whether the last bytes begin a character that needs more of them.
bool ends_inside_character(std::string_view text) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(text.size(), 3); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xC0) == 0x80) continue;
        const std::size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return byte < 0xF8 && needed > back;
    }
    return false;
}

std::string with_replacements(std::string_view text) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const std::uint32_t code_point = decode_utf8(text, at);
        if (code_point == kInvalidUtf8) ++at;
        append_utf8(clean, code_point == kInvalidUtf8 ? kReplacement : code_point);
    }
    return clean;
}

}  // namespace

std::string TextStream::take(bool everything) {
    TokenIds all = shown_;
    all.insert(all.end(), pending_.begin(), pending_.end());
    const std::string before = tokenizer_.decode(shown_), text = tokenizer_.decode(all);
    const std::size_t common =
        static_cast<std::size_t>(std::ranges::mismatch(before, text).in2 - text.begin());
    const std::string_view fresh = std::string_view(text).substr(common);
    // A tokenizer may itself put U+FFFD for a part of a character.
    const bool incomplete = ends_inside_character(fresh) || fresh.ends_with(kReplacementText);
    if (incomplete && !everything && pending_.size() < kMostPending) return {};
    shown_ = std::move(pending_);
    pending_.clear();
    return with_replacements(fresh);
}

std::string TextStream::add(TokenId id) {
    pending_.push_back(id);
    return take(false);
}

std::string TextStream::finish() {
    return pending_.empty() ? std::string() : take(true);
}

}  // namespace mpt
