// UTF-8 and the few Unicode rules that tokenizers and BLEU need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mpt {

// What decode_utf8 returns in place of a code point that is not one.
constexpr std::uint32_t kInvalidUtf8 = 0xffffffff;

// Reads the code point at `at` and moves `at` behind it; on kInvalidUtf8 (cut short, overlong, surrogate,
// above U+10FFFF) `at` stays where it was.
std::uint32_t decode_utf8(std::string_view text, std::size_t& at);
void append_utf8(std::string& text, std::uint32_t code_point);

// The offset of the first byte that is not UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);
// Throws Error(kData) naming the first byte that is not UTF-8.
void check_utf8(std::string_view text);
// The code points of `text`, checked as above.
std::vector<std::uint32_t> code_points_of(std::string_view text);
// The greatest length <= `bytes` at which `text` can be cut without cutting a code point.
std::size_t utf8_prefix(std::string_view text, std::size_t bytes);

bool is_letter(std::uint32_t code_point);  // general category L
bool is_number(std::uint32_t code_point);  // general category N
bool is_space(std::uint32_t code_point);   // the property White_Space

// Lower case by Unicode's full mapping without a locale, the final sigma included: Python's str.lower.
std::string lower_case(std::string_view text);

}  // namespace mpt
