#include "core/printable.h"

namespace mpt {
namespace {

// Bytes of the character at `at`; 0 where there is none.
std::size_t character_bytes(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(at);
    const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0 || first > 0xF4 || text.size() - at < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(at + i) & 0xC0) != 0x80) return 0;
    return length;
}

// C0, DEL, and C1, which is C2 80 to C2 9F.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) return first < 0x20 || first == 0x7F;
    return character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

void write_out(std::string_view bytes, std::string& out) {
    constexpr char kDigits[] = "0123456789abcdef";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n' || c == '\r' || c == '\t')
            out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
        else
            out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
}

std::string escaped(std::string_view text, std::string_view kept) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = character_bytes(text, at);
        const std::string_view character = text.substr(at, bytes == 0 ? 1 : bytes);
        const bool keep = kept.find(character) != std::string_view::npos;
        if (bytes == 0 || (is_control(character) && !keep))
            write_out(character, out);
        else
            out += character;
        at += character.size();
    }
    return out;
}

}  // namespace

std::string printable(std::string_view text) {
    return escaped(text, "");
}

std::string printable_lines(std::string_view text) {
    return escaped(text, "\n\t");
}

}  // namespace mpt
