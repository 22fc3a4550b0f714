#include "dataset/text/gpt2_pieces.h"

#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

enum class CharacterClass { kLetter, kNumber, kSpace, kOther };

CharacterClass class_of(std::uint32_t c) {
    if (is_letter(c)) return CharacterClass::kLetter;
    if (is_number(c)) return CharacterClass::kNumber;
    return is_space(c) ? CharacterClass::kSpace : CharacterClass::kOther;
}

CharacterClass read_class(std::string_view text, std::size_t& at) {
    const std::uint32_t c = decode_utf8(text, at);
    MPT_CHECK(c != kInvalidUtf8);
    return class_of(c);
}

// The end of the run of `wanted` that starts at `at`; `last` is where its last character starts.
std::size_t run_end(std::string_view text, std::size_t at, CharacterClass wanted, std::size_t& last) {
    std::size_t end = at;
    while (end < text.size()) {
        std::size_t next = end;
        if (read_class(text, next) != wanted) break;
        last = end;
        end = next;
    }
    return end;
}

}  // namespace

std::size_t gpt2_piece_length(std::string_view text) {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
        if (text.starts_with(ending)) return ending.size();
    }
    const std::size_t first = text.front() == ' ' && text.size() > 1 ? 1 : 0;
    std::size_t next = first, last = first;
    const CharacterClass kind = read_class(text, next);
    if (kind != CharacterClass::kSpace) return run_end(text, first, kind, last);
    last = 0;
    const std::size_t end = run_end(text, 0, CharacterClass::kSpace, last);
    // The last space before a word belongs to the word's piece, unless it is the only one.
    return end == text.size() || last == 0 ? end : last;
}

}  // namespace mpt
