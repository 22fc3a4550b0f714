#include "dataset/text/unicode.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "core/error.h"
#include "dataset/text/unicode_ranges.h"

namespace mpt {
namespace {

bool in_ranges(std::span<const CodeRange> ranges, std::uint32_t c) {
    const auto next =
        std::upper_bound(ranges.begin(), ranges.end(), c,
                         [](std::uint32_t value, const CodeRange& r) { return value < r.first; });
    return next != ranges.begin() && c <= std::prev(next)->last;
}

std::uint32_t lower_code_point(std::uint32_t c) {
    const std::span<const LowerRun> runs = kLowerRuns;
    auto run = std::upper_bound(runs.begin(), runs.end(), c,
                                [](std::uint32_t value, const LowerRun& r) { return value < r.first; });
    if (run == runs.begin()) return c;
    --run;
    if (c <= run->last && (c - run->first) % run->step == 0) {
        return static_cast<std::uint32_t>(static_cast<std::int64_t>(c) + run->delta);
    }
    return c;
}

// Unicode's Final_Sigma: a cased letter before it, none after it, looking through what is case-ignorable.
bool is_final_sigma(const std::vector<std::uint32_t>& text, std::size_t at) {
    std::size_t before = at;
    while (before > 0 && in_ranges(kCaseIgnorableRanges, text[before - 1])) --before;
    if (before == 0 || !in_ranges(kCasedRanges, text[before - 1])) return false;
    std::size_t after = at + 1;
    while (after < text.size() && in_ranges(kCaseIgnorableRanges, text[after])) ++after;
    return after == text.size() || !in_ranges(kCasedRanges, text[after]);
}

}  // namespace

std::uint32_t decode_utf8(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(at);
    if (lead < 0x80) {
        ++at;
        return lead;
    }
    const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || at + length > text.size()) return kInvalidUtf8;
    std::uint32_t c = lead & (0xffu >> (length + 1));
    for (std::size_t i = at + 1; i < at + length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return kInvalidUtf8;
        c = (c << 6) | (byte(i) & 0x3fu);
    }
    const bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
    if (overlong || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) return kInvalidUtf8;
    at += length;
    return c;
}

void append_utf8(std::string& text, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
        return;
    }
    if (c < 0x800) {
        put(0xc0 | (c >> 6));
    } else if (c < 0x10000) {
        put(0xe0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3f));
    } else {
        put(0xf0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3f));
        put(0x80 | ((c >> 6) & 0x3f));
    }
    put(0x80 | (c & 0x3f));
}

std::size_t find_invalid_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (decode_utf8(text, at) == kInvalidUtf8) return at;
    }
    return std::string_view::npos;
}

void check_utf8(std::string_view text) {
    const std::size_t at = find_invalid_utf8(text);
    if (at == std::string_view::npos) return;
    char hex[8];
    std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned>(static_cast<std::uint8_t>(text[at])));
    throw Error(ExitCode::kData, "the text is not UTF-8 at byte offset " + std::to_string(at) + " (" + hex +
                                     "); convert it to UTF-8");
}

std::vector<std::uint32_t> code_points_of(std::string_view text) {
    check_utf8(text);
    std::vector<std::uint32_t> result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) result.push_back(decode_utf8(text, at));
    return result;
}

std::size_t utf8_prefix(std::string_view text, std::size_t bytes) {
    if (bytes >= text.size()) return text.size();
    while (bytes > 0 && (static_cast<std::uint8_t>(text[bytes]) & 0xc0) == 0x80) --bytes;
    return bytes;
}

bool is_letter(std::uint32_t c) {
    if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    return in_ranges(kLetterRanges, c);
}

bool is_number(std::uint32_t c) {
    if (c < 0x80) return c >= '0' && c <= '9';
    return in_ranges(kNumberRanges, c);
}

bool is_space(std::uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 0x9 && c <= 0xd);
    return in_ranges(kSpaceRanges, c);
}

std::string lower_case(std::string_view text) {
    const std::vector<std::uint32_t> points = code_points_of(text);
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const std::uint32_t c = points[i];
        if (c == 0x130) {  // a dotted capital I becomes i and a combining dot
            append_utf8(result, 'i');
            append_utf8(result, 0x307);
        } else if (c == 0x3a3) {
            append_utf8(result, is_final_sigma(points, i) ? 0x3c2 : 0x3c3);
        } else {
            append_utf8(result, lower_code_point(c));
        }
    }
    return result;
}

}  // namespace mpt
