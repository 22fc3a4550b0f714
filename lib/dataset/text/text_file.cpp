#include "dataset/text/text_file.h"

#include <algorithm>
#include <cstdio>

#include "core/error.h"
#include "dataset/data_file.h"
#include "dataset/text/tokenizer_makers.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What iconv calls the encoding of a file that is no UTF-8, as far as its first bytes tell: by a byte order
// mark, or by where its zeros are, as most letters of most texts have codes below 256.
std::string wide_encoding(std::string_view bytes) {
    using namespace std::string_view_literals;
    if (bytes.starts_with("\xff\xfe\0\0"sv) || bytes.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
    if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) return "UTF-16";
    constexpr std::size_t kLookedAt = 4096, kFewest = 4;
    const std::string_view first = bytes.substr(0, kLookedAt);
    const auto zeros = static_cast<std::size_t>(std::ranges::count(first, '\0'));
    if (first.size() < kFewest || 10 * zeros < 4 * first.size() || zeros == first.size()) return "";
    const char* ending = first.front() == '\0' ? "BE" : "LE";
    return (10 * zeros > 6 * first.size() ? "UTF-32" : "UTF-16") + std::string(ending);
}

void refuse_packed(const std::string& path, std::string_view bytes) {
    const std::string what = packed_as(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), std::min<std::size_t>(bytes.size(), 64)});
    if (!what.empty())
        throw Error(ExitCode::kData,
                    path + ": is " + what + ", no text; unpack it (gzip alone is read as it is)");
}

void require_utf8(const std::string& path, std::string_view bytes) {
    refuse_packed(path, bytes);
    const std::size_t at = find_invalid_utf8(bytes);
    const std::string wide = wide_encoding(bytes);
    if (at == std::string_view::npos && wide.empty()) return;
    if (at == std::string_view::npos)
        throw Error(ExitCode::kData, path + ": not UTF-8: so many of its bytes are 0 that this looks like " +
                                         wide + " without a byte order mark; convert it: iconv -f " + wide +
                                         " -t UTF-8");
    const auto line = std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    char hex[8];
    std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned>(static_cast<std::uint8_t>(bytes[at])));
    throw Error(ExitCode::kData, path + ": not UTF-8 at byte offset " + std::to_string(at) + " (" + hex +
                                     ", line " + std::to_string(line) + ")" +
                                     (wide.empty() ? "" : ": this looks like " + wide) +
                                     "; convert it: iconv -f " + (wide.empty() ? "LATIN1" : wide) +
                                     " -t UTF-8, if that is what it is");
}

// Drops every CR in a run of them before a line feed or the end.
void drop_carriage_returns(std::string& text) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\r') {
            const std::size_t after = text.find_first_not_of('\r', at);
            if (after == std::string::npos) break;
            if (text[after] != '\n') {
                while (at < after) text[kept++] = text[at++];
            }
            at = after;
        }
        text[kept++] = text[at];
    }
    text.resize(kept);
}

}  // namespace

std::string read_text_file(const std::string& path) {
    std::string text = file_bytes(path);
    require_utf8(path, text);
    if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    drop_carriage_returns(text);
    if (text.empty()) throw Error(ExitCode::kData, path + ": there is no text in it");
    return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

std::int64_t train_count(std::int64_t num_items, double validation_fraction) {
    MPT_CHECK(num_items >= 0 && validation_fraction >= 0 && validation_fraction < 1);
    return static_cast<std::int64_t>(static_cast<double>(num_items) * (1.0 - validation_fraction));
}

TextSplit split_last(std::string_view text, double validation_fraction) {
    const auto starts = [](char byte) { return (static_cast<std::uint8_t>(byte) & 0xc0) != 0x80; };
    std::int64_t left = train_count(std::count_if(text.begin(), text.end(), starts), validation_fraction);
    std::size_t cut = 0;
    while (cut < text.size() && (left > 0 || !starts(text[cut]))) left -= starts(text[cut++]);
    return {text.substr(0, cut), text.substr(cut)};
}

bool is_validation_source(std::string_view source, double validation_fraction) {
    // FNV-1a, then the finaliser of MurmurHash3 (both in the public domain) to spread it over all bits.
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char byte : source) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3u;
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
    hash ^= hash >> 33;
    return static_cast<double>(hash >> 11) * 0x1p-53 < validation_fraction;
}

}  // namespace mpt
