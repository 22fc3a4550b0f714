#include "dataset/pictures/tar_index.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "core/error.h"

namespace mpt {
namespace {

using Block = std::array<std::uint8_t, kTarBlock>;

// Where fields lie in a header, and how long they are.
struct Field {
    std::size_t at, length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kType{156, 1}, kMagic{257, 8}, kPrefix{345, 155};
constexpr std::uint64_t kMaxNameBytes = 65536;  // of an extension

[[noreturn]] void fail(std::uint64_t offset, const std::string& what) {
    throw Error(ExitCode::kData, "damaged tar archive at byte " + std::to_string(offset) + ": " + what);
}

std::string text_of(const Block& block, const Field& field) {
    const auto* begin = reinterpret_cast<const char*>(block.data() + field.at);
    return {begin, strnlen(begin, field.length)};
}

// Octal digits, or GNU's big-endian number behind a first byte of 0x80.
std::optional<std::uint64_t> number_of(const Block& block, const Field& field) {
    std::uint64_t value = 0;
    if (block[field.at] & 0x80) {
        if (block[field.at] != 0x80) return std::nullopt;
        for (std::size_t i = 1; i < field.length; ++i) {
            if (value >> 55 != 0) return std::nullopt;
            value = value << 8 | block[field.at + i];
        }
        return value;
    }
    bool any = false;
    for (std::size_t i = 0; i < field.length; ++i) {
        const std::uint8_t c = block[field.at + i];
        if (c == ' ' && !any) continue;
        if (c == ' ' || c == 0) break;
        if (c < '0' || c > '7') return std::nullopt;
        value = value << 3 | static_cast<std::uint64_t>(c - '0');
        any = true;
    }
    return any ? std::optional(value) : std::nullopt;
}

std::uint32_t checksum_of(const Block& block) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
        const bool inside = i >= kChecksum.at && i < kChecksum.at + kChecksum.length;
        sum += inside ? ' ' : block[i];
    }
    return sum;
}

// A pax record is "LENGTH KEY=VALUE\n"; only the path and the size matter.
struct PaxFields {
    std::string path;
    bool has_size = false;
    std::uint64_t size = 0;
};
void read_pax(const std::string& text, PaxFields& fields, std::uint64_t offset) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t digits = at, length = 0;
        while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits - at < 9)
            length = length * 10 + static_cast<std::size_t>(text[digits++] - '0');
        if (digits == at || digits >= text.size() || text[digits] != ' ' || length > text.size() - at ||
            length < digits - at + 3 || text[at + length - 1] != '\n')
            fail(offset, "a pax record that is none");
        const std::string record = text.substr(digits + 1, at + length - digits - 2);
        if (record.starts_with("path=")) fields.path = record.substr(5);
        if (record.starts_with("size=")) {
            std::uint64_t value = 0;
            for (const char c : record.substr(5)) {
                if (c < '0' || c > '9' || value > std::numeric_limits<std::uint64_t>::max() / 16)
                    fail(offset, "a pax size that is no number");
                value = value * 10 + static_cast<std::uint64_t>(c - '0');
            }
            fields.size = value;
            fields.has_size = true;
        }
        at += length;
    }
}

std::string body_text(const TarBytes& bytes, std::uint64_t offset, std::uint64_t size) {
    if (size > kMaxNameBytes) fail(offset, "a name of " + std::to_string(size) + " bytes");
    std::string text(static_cast<std::size_t>(size), '\0');
    if (!bytes.read(offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}))
        fail(offset, "it ends in the middle of a name");
    return text;
}

// Archives end with two blocks of zeros: one cut off between members is known by their absence.
constexpr const char* kNoEnd =
    "it is cut off: the two blocks of zeros at an archive's end are missing; copy it again";

bool is_zero(const Block& block) {
    return std::all_of(block.begin(), block.end(), [](std::uint8_t byte) { return byte == 0; });
}

// A packed archive has no member that could be found.
void refuse_packed(const TarBytes& bytes) {
    std::array<std::uint8_t, 6> first{};
    if (bytes.size < kTarBlock || !bytes.read(0, first)) return;
    const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
    const char* tool = text.starts_with("\x1f\x8b")           ? "gzip"
                       : text.starts_with("\x28\xb5\x2f\xfd") ? "zstd"
                       : text.starts_with("BZh")              ? "bzip2"
                       : text.starts_with("\xfd\x37zXZ")      ? "xz"
                                                              : nullptr;
    if (tool != nullptr)
        throw Error(ExitCode::kData, std::string("is packed with ") + tool +
                                         "; pictures are read from anywhere in a shard: unpack it to a .tar");
}

}  // namespace

void each_member(const TarBytes& bytes, const std::function<void(const TarMember&)>& visit) {
    constexpr std::uint64_t kRound = kTarBlock - 1;
    refuse_packed(bytes);
    PaxFields next;  // said by an extension about the member behind it
    for (std::uint64_t at = 0; at < bytes.size;) {
        Block block{};
        if (bytes.size - at < kTarBlock || !bytes.read(at, block))
            fail(at, "it ends in the middle of a header");
        if (is_zero(block)) {
            if (bytes.size - at < 2 * kTarBlock || !bytes.read(at + kTarBlock, block) || !is_zero(block))
                fail(at, kNoEnd);
            return;
        }
        if (number_of(block, kChecksum) != checksum_of(block)) fail(at, "the header's checksum is wrong");
        const char type = static_cast<char>(block[kType.at]);
        std::optional<std::uint64_t> size = number_of(block, kSize);
        const bool is_file = type == '0' || type == '\0' || type == '7';
        if (is_file && next.has_size) size = next.size;
        if (!size) fail(at, "a size that is no number");
        const std::uint64_t body = at + kTarBlock;
        // Links and folders have no contents, whatever their size says.
        const bool has_body = is_file || type == 'L' || type == 'K' || type == 'x' || type == 'g';
        const std::uint64_t held = has_body ? *size : 0;
        if (held > bytes.size - body)
            fail(at, "a member of " + std::to_string(held) + " bytes, " + std::to_string(bytes.size - body) +
                         " are left");
        if (type == 'L') {
            next.path = body_text(bytes, body, held);
            next.path.resize(std::min(next.path.find('\0'), next.path.size()));
        } else if (type == 'x') {
            read_pax(body_text(bytes, body, held), next, at);
        } else if (type != 'K' && type != 'g') {
            std::string name = text_of(block, kName);
            const std::string prefix = text_of(block, kPrefix);
            if (text_of(block, {kMagic.at, 5}) == "ustar" && block[kMagic.at + 5] == 0 && !prefix.empty())
                name = prefix + "/" + name;
            if (!next.path.empty()) name = next.path;
            if (is_file) visit({name, body, *size});
            next = {};
        }
        at = body + (held + kRound) / kTarBlock * kTarBlock;
    }
    fail(bytes.size, kNoEnd);
}

std::string tar_header(const std::string& name, std::uint64_t size) {
    MPT_CHECK(name.size() <= kName.length && size < std::uint64_t{1} << 33);
    Block block{};
    const auto put = [&](const Field& field, const std::string& text) {
        std::memcpy(block.data() + field.at, text.data(), std::min(text.size(), field.length));
    };
    const auto octal = [](std::uint64_t value, int digits) {
        char text[32];
        std::snprintf(text, sizeof(text), "%0*llo", digits, static_cast<unsigned long long>(value));
        return std::string(text);
    };
    put(kName, name);
    put(kMode, octal(0644, 7));
    put(kOwner, octal(0, 7));
    put(kGroup, octal(0, 7));
    put(kSize, octal(size, 11));
    put(kTime, octal(0, 11));  // the same pictures make the same bytes
    put(kType, "0");
    put(kMagic, std::string("ustar\0"
                            "00",
                            8));
    put(kChecksum, octal(checksum_of(block), 6));
    block[kChecksum.at + 7] = ' ';
    return {reinterpret_cast<const char*>(block.data()), block.size()};
}

}  // namespace mpt
