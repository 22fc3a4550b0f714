#include "dataset/pictures/shard_index.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>

#include "core/error.h"
#include "dataset/pictures/picture_store.h"
#include "dataset/pictures/tar_index.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "mpt-train shards 1";
constexpr std::int64_t kMaxClasses = 1000000;

std::uint32_t crc_of(std::string_view text) {
    return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

std::string hex(std::uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof(text), "%08x", value);
    return text;
}

class Lines {
  public:
    Lines(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

    std::string_view next() {
        if (at_ >= text_.size()) fail("the index ends too early");
        ++number_;
        begin_ = at_;
        const std::size_t end = text_.find('\n', at_);
        if (end == std::string_view::npos) fail("the last line has no end");
        at_ = end + 1;
        return text_.substr(begin_, end - begin_);
    }
    std::size_t line_begin() const { return begin_; }
    bool at_end() const { return at_ == text_.size(); }
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(ExitCode::kData, origin_ + ":" + std::to_string(number_) + ": " + what +
                                         "; pack the shards anew, or remove the index to have it found out");
    }

  private:
    std::string_view text_;
    const std::string& origin_;
    std::size_t at_ = 0, begin_ = 0;
    int number_ = 0;
};

// The words of a line, one blank between them.
class Words {
  public:
    Words(std::string_view line, const Lines& lines) : line_(line), lines_(lines) {}
    std::string_view word() {
        const std::size_t end = std::min(line_.find(' '), line_.size());
        const std::string_view found = line_.substr(0, end);
        if (found.empty()) lines_.fail("a word is missing");
        line_.remove_prefix(std::min(end + 1, line_.size()));
        return found;
    }
    template <class T>
    T number(int base = 10) {
        const std::string_view text = word();
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
        if (error != std::errc() || end != text.data() + text.size())
            lines_.fail("'" + std::string(text) + "' is no number that fits");
        return value;
    }
    void expect(std::string_view wanted) {
        if (word() != wanted) lines_.fail("'" + std::string(wanted) + "' expected");
    }
    void expect_end() const {
        if (!line_.empty()) lines_.fail("more words than expected");
    }

  private:
    std::string_view line_;
    const Lines& lines_;
};

// A member's name as WebDataset reads it: the key ends at the first dot of the last part, the field's name is
// all that follows. `a.seg.png` is another field than `a.png`.
struct MemberName {
    std::string key, field;  // field: empty where the member belongs to no sample
};
MemberName split_name(const std::string& name) {
    const std::size_t slash = name.rfind('/');
    const std::size_t last = slash == std::string::npos ? 0 : slash + 1;
    const std::size_t dot = name.find('.', last);
    if (dot == std::string::npos || dot == last) return {};  // `._a.jpg` is what macOS keeps beside a.jpg
    std::string field = name.substr(dot + 1);
    for (char& c : field)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return {name.substr(0, dot), std::move(field)};
}

// Puts the picture and the label of one key together while members go by.
class SampleCollector {
  public:
    explicit SampleCollector(ShardIndex& index) : index_(index) {}

    void add(const TarMember& member, const TarBytes& bytes) {
        const auto [key, field] = split_name(member.name);
        if (field.empty()) return;
        if (key != key_) finish();
        key_ = key;
        if (field == "cls") {
            if (has_label_) fail(member.name + ": a second class of one key");
            label_ = label_of(member, bytes);
            has_label_ = true;
        } else if (field == "jpg" || field == "jpeg" || field == "png" || field == "webp") {
            if (has_picture_) fail(member.name + ": a second picture of one key");
            if (member.size > kMaxPictureBytes) fail(member.name + ": too large for a picture");
            picture_ = {member.offset, static_cast<std::uint32_t>(member.size), 0};
            has_picture_ = true;
        }
    }
    void finish() {
        if (has_picture_ != has_label_)
            fail(key_ + (has_picture_ ? ": has a picture, but no .cls with its class"
                                      : ": has a class, but no picture (jpg, jpeg, png or webp)"));
        if (has_picture_) {
            picture_.label = label_;
            index_.pictures.push_back(picture_);
        }
        has_picture_ = has_label_ = false;
    }

  private:
    [[noreturn]] static void fail(const std::string& what) { throw Error(ExitCode::kData, what); }
    static std::int32_t label_of(const TarMember& member, const TarBytes& bytes) {
        constexpr std::uint64_t kMostBytes = 64;  // a number and blanks
        if (member.size > kMostBytes)
            fail(member.name + ": has " + std::to_string(member.size) +
                 " bytes, which is no number of a class");
        std::string text(static_cast<std::size_t>(member.size), '\0');
        bytes.read(member.offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
        text.erase(text.find_last_not_of(" \t\r\n") + 1);
        std::int32_t label = -1;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
        if (error != std::errc() || end != text.data() + text.size() || label < 0 || label >= kMaxClasses)
            fail(member.name + ": '" + text + "' is no number of a class");
        return label;
    }

    ShardIndex& index_;
    std::string key_;
    ShardPicture picture_;
    std::int32_t label_ = 0;
    bool has_picture_ = false, has_label_ = false;
};

// Headers and classes that lie side by side are read in one piece: a read call each is slow on network file
// systems.
class FileWindow {
  public:
    explicit FileWindow(const std::string& path) : file_(path) {}
    std::uint64_t size() const { return file_.size(); }
    bool read(std::uint64_t offset, std::span<std::uint8_t> out) {
        if (out.size() > piece_.size()) return file_.read_at(offset, out);
        if (offset < begin_ || offset + out.size() > begin_ + held_) {
            begin_ = offset;
            held_ = std::min<std::uint64_t>(piece_.size(), size() - std::min(offset, size()));
            if (held_ < out.size() || !file_.read_at(begin_, std::span(piece_).first(held_))) {
                held_ = 0;
                return false;
            }
        }
        std::copy_n(piece_.begin() + static_cast<std::ptrdiff_t>(offset - begin_), out.size(), out.begin());
        return true;
    }

  private:
    OpenFile file_;
    std::array<std::uint8_t, 4096> piece_;
    std::uint64_t begin_ = 0;
    std::size_t held_ = 0;
};

// Without classes.txt: numbers, `num_classes` of them, or if that is 0 those in use.
std::vector<std::string> class_names_in(const std::string& folder, const ShardIndex& index,
                                        std::int64_t num_classes) {
    std::vector<std::string> names;
    const std::string path = (fs::path(folder) / "classes.txt").string();
    std::error_code error;
    if (fs::status(path, error).type() != fs::file_type::not_found) names = read_class_names(path);
    if (!names.empty()) return names;
    std::int64_t last = num_classes - 1;
    if (num_classes == 0)
        for (const ShardPicture& picture : index.pictures) last = std::max<std::int64_t>(last, picture.label);
    for (std::int64_t c = 0; c <= last; ++c) names.push_back(std::to_string(c));
    return names;
}

void check_labels(const std::string& folder, const ShardIndex& index) {
    const auto classes = static_cast<std::int32_t>(index.class_names.size());
    for (std::size_t i = 0; i < index.pictures.size(); ++i) {
        if (index.pictures[i].label < classes) continue;
        std::size_t shard = 0;
        while (shard + 1 < index.shards.size() && index.shards[shard + 1].first <= i) ++shard;
        throw Error(ExitCode::kData,
                    (fs::path(folder) / index.shards[shard].file).string() + ": sample " + std::to_string(i) +
                        " has class " + std::to_string(index.pictures[i].label) + ", allowed are 0.." +
                        std::to_string(classes - 1) + " (of classes.txt or model.num_classes)");
    }
}

}  // namespace

std::vector<std::string> read_class_names(const std::string& path) {
    std::vector<std::string> names;
    std::istringstream lines(text_of_file(path));
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();
        names.push_back(line);
    }
    while (!names.empty() && names.back().empty()) names.pop_back();
    std::set<std::string> seen;
    for (const std::string& name : names)
        if (!seen.insert(name).second)
            throw Error(ExitCode::kData,
                        path + ": the class '" + name + "' is there twice; give each its own name");
    return names;
}

std::string print(const ShardIndex& index) {
    std::string text(kFirstLine);
    text += "\nclasses " + std::to_string(index.class_names.size()) + "\n";
    for (const std::string& name : index.class_names) text += name + "\n";
    for (std::size_t s = 0; s < index.shards.size(); ++s) {
        const ShardFile& shard = index.shards[s];
        const std::size_t end =
            s + 1 < index.shards.size() ? index.shards[s + 1].first : index.pictures.size();
        text += "shard " + shard.file + " " + std::to_string(shard.bytes) + " " + hex(shard.checksum) + " " +
                std::to_string(end - shard.first) + "\n";
        for (std::size_t i = shard.first; i < end; ++i) {
            const ShardPicture& picture = index.pictures[i];
            text += std::to_string(picture.offset) + " " + std::to_string(picture.size) + " " +
                    std::to_string(picture.label) + "\n";
        }
    }
    const std::uint32_t checksum = crc_of(text);
    return text + "end " + std::to_string(index.pictures.size()) + " " + hex(checksum) + "\n";
}

ShardIndex parse_shard_index(const std::string& text, const std::string& origin) {
    Lines lines(text, origin);
    ShardIndex index;
    index.has_checksums = true;
    if (lines.next() != kFirstLine) lines.fail("is no index of shards");
    Words head(lines.next(), lines);
    head.expect("classes");
    const auto num_classes = head.number<std::int64_t>();
    if (num_classes < 1 || num_classes > kMaxClasses) lines.fail("a number of classes that cannot be");
    for (std::int64_t c = 0; c < num_classes; ++c) index.class_names.emplace_back(lines.next());
    while (true) {
        Words words(lines.next(), lines);
        const std::string_view kind = words.word();
        if (kind == "end") {
            const auto total = words.number<std::uint64_t>();
            const auto checksum = words.number<std::uint32_t>(16);
            words.expect_end();
            if (total != index.pictures.size()) lines.fail("another number of pictures than is listed");
            if (checksum != crc_of(std::string_view(text).substr(0, lines.line_begin())))
                lines.fail("the checksum is not that of the lines above");
            if (!lines.at_end()) lines.fail("more lines than expected");
            return index;
        }
        if (kind != "shard") lines.fail("'shard' or 'end' expected");
        ShardFile shard;
        shard.file = words.word();
        if (shard.file.find("..") != std::string::npos || shard.file[0] == '/')
            lines.fail("a shard outside of the folder");
        shard.bytes = words.number<std::uint64_t>();
        shard.checksum = words.number<std::uint32_t>(16);
        const auto count = words.number<std::uint32_t>();
        words.expect_end();
        shard.first = static_cast<std::uint32_t>(index.pictures.size());
        for (std::uint32_t i = 0; i < count; ++i) {
            Words numbers(lines.next(), lines);
            ShardPicture picture;
            picture.offset = numbers.number<std::uint64_t>();
            picture.size = numbers.number<std::uint32_t>();
            picture.label = numbers.number<std::int32_t>();
            numbers.expect_end();
            if (picture.offset > shard.bytes || picture.size > shard.bytes - picture.offset)
                lines.fail("a picture that reaches beyond its shard");
            if (picture.label < 0 || picture.label >= num_classes)
                lines.fail("class " + std::to_string(picture.label) + ", allowed are 0.." +
                           std::to_string(num_classes - 1));
            index.pictures.push_back(picture);
        }
        index.shards.push_back(std::move(shard));
    }
}

namespace {

void scan_shard(const std::string& path, const std::string& file, const AskStop& stop, ShardIndex& index) {
    FileWindow window(path);
    index.shards.push_back({file, window.size(), 0, static_cast<std::uint32_t>(index.pictures.size())});
    const TarBytes bytes{window.size(), [&](std::uint64_t offset, std::span<std::uint8_t> out) {
                             return window.read(offset, out);
                         }};
    SampleCollector collector(index);
    each_member(bytes, [&](const TarMember& member) {
        leave_if(stop);
        collector.add(member, bytes);
    });
    collector.finish();
}

}  // namespace

ShardIndex scan_shards(const std::string& folder, const std::vector<std::string>& files,
                       std::int64_t num_classes, const AskStop& stop) {
    ShardIndex index;
    for (const std::string& file : files) {
        const std::string path = (fs::path(folder) / file).string();
        try {
            scan_shard(path, file, stop, index);
        } catch (const Error& error) {
            throw Error(error.code(), path + ": " + error.what());
        }
    }
    index.class_names = class_names_in(folder, index, num_classes);
    check_labels(folder, index);
    return index;
}

std::uint32_t checksum_of_file(const std::string& path, const AskStop& stop) {
    try {
        const OpenFile file(path);
        std::vector<std::uint8_t> piece(1 << 20);
        uLong crc = 0;
        for (std::uint64_t at = 0; at < file.size(); at += piece.size()) {
            leave_if(stop);
            piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), file.size() - at)));
            if (!file.read_at(at, piece)) throw Error(ExitCode::kData, "ends while it is read");
            crc = crc32_z(crc, piece.data(), piece.size());
        }
        return static_cast<std::uint32_t>(crc);
    } catch (const Error& error) {
        throw Error(error.code(), path + ": " + error.what());
    }
}

}  // namespace mpt
