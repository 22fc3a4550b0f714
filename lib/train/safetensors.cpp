#include "train/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // for writing only: it looks keys up one by one

struct TypeWord {
    FileType type;
    std::string_view word;
    std::size_t bytes;
};
constexpr std::array<TypeWord, 10> kTypes = {{{FileType::F64, "F64", 8},
                                              {FileType::F32, "F32", 4},
                                              {FileType::F16, "F16", 2},
                                              {FileType::BF16, "BF16", 2},
                                              {FileType::I64, "I64", 8},
                                              {FileType::I32, "I32", 4},
                                              {FileType::I16, "I16", 2},
                                              {FileType::I8, "I8", 1},
                                              {FileType::U8, "U8", 1},
                                              {FileType::BOOL, "BOOL", 1}}};
constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

// Names come from the file: a line break in one must not break the message.
[[noreturn]] void refuse(const fs::path& path, std::string fault) {
    std::replace_if(
        fault.begin(), fault.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    throw Error(ExitCode::kCheckpoint, path.string() + ": not a valid safetensors file: " + fault);
}

void read_exactly(int file, const fs::path& path, std::int64_t offset, std::span<std::byte> out) {
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t n = ::pread(file, out.data() + done, out.size() - done,
                                  static_cast<off_t>(offset) + static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            throw Error(ExitCode::kCheckpoint, path.string() + ": cannot read: " + std::strerror(errno));
        if (n == 0) refuse(path, "it ends early");
        done += static_cast<std::size_t>(n);
    }
}

// nlohmann keeps the last of two equal keys: they are caught while parsing. So is nesting deeper than the
// format has.
Json parse_header(const fs::path& path, const std::string& text) {
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > 3) refuse(path, "its header is nested too deeply");
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end) keys.pop_back();
        if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
            refuse(path, "'" + parsed.get<std::string>() + "' is there twice");
        return true;
    };
    try {
        Json header = Json::parse(text, watch);
        if (!header.is_object()) refuse(path, "its header is not a JSON object");
        return header;
    } catch (const nlohmann::json::exception&) {
        refuse(path, "its header is not JSON");
    }
}

std::int64_t whole_number(const fs::path& path, const std::string& name, const Json& json, const char* what) {
    if (!json.is_number_unsigned() ||
        json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse(path, name + ": " + what + " must be whole numbers from 0 on");
    return json.get<std::int64_t>();
}

TensorEntry read_entry(const fs::path& path, const std::string& name, const Json& json) {
    if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
        !json.contains("data_offsets"))
        refuse(path, name + ": needs dtype, shape and data_offsets and nothing else");
    TensorEntry entry;
    entry.name = name;
    const Json& word = json["dtype"];
    const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeWord& t) {
        return word.is_string() && word.get<std::string>() == t.word;
    });
    if (type == kTypes.end()) refuse(path, name + ": unknown dtype " + word.dump());
    entry.type = type->type;
    if (!json["shape"].is_array()) refuse(path, name + ": shape must be a list");
    std::vector<std::int64_t> dims;
    std::int64_t bytes = static_cast<std::int64_t>(type->bytes);
    for (const Json& dim : json["shape"]) {
        dims.push_back(whole_number(path, name, dim, "shape's entries"));
        if (__builtin_mul_overflow(bytes, dims.back(), &bytes))
            refuse(path, name + ": its shape is too large");
    }
    entry.shape = Shape(std::move(dims));
    const Json& offsets = json["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2) refuse(path, name + ": data_offsets must be two numbers");
    entry.begin = whole_number(path, name, offsets[0], "data_offsets");
    entry.end = whole_number(path, name, offsets[1], "data_offsets");
    if (entry.end < entry.begin || entry.bytes() != bytes)
        refuse(path,
               name + ": data_offsets do not span the " + std::to_string(bytes) + " bytes of its shape");
    return entry;
}

std::map<std::string, std::string> read_metadata(const fs::path& path, const Json& json) {
    if (!json.is_object()) refuse(path, "__metadata__ must be an object of strings");
    std::map<std::string, std::string> metadata;
    for (const auto& [key, value] : json.items()) {
        if (!value.is_string()) refuse(path, "__metadata__ must be an object of strings");
        metadata[key] = value.get<std::string>();
    }
    return metadata;
}

}  // namespace

std::string_view name_of(FileType type) {
    return std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeWord& t) { return t.type == type; })
        ->word;
}

std::size_t size_of(FileType type) {
    return std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeWord& t) { return t.type == type; })
        ->bytes;
}

FileType file_type_of(DType type) {
    switch (type) {
        case DType::f64:
            return FileType::F64;
        case DType::f32:
            return FileType::F32;
        case DType::f16:
            return FileType::F16;
        case DType::bf16:
            return FileType::BF16;
        case DType::i32:
            return FileType::I32;
        case DType::u8:
        case DType::e4m3:  // never in a file
        case DType::e5m2:
            break;
    }
    return FileType::U8;
}

SafetensorsFile::SafetensorsFile(const fs::path& path) : path_(path) {
    struct Closer {
        int& file;
        bool keep = false;
        ~Closer() {
            if (!keep && file >= 0) ::close(file);
        }
    } closer{file_};
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0)
        throw Error(ExitCode::kCheckpoint, path.string() + ": cannot open: " + std::strerror(errno));
    struct stat info {};
    if (::fstat(file_, &info) != 0 || !S_ISREG(info.st_mode)) refuse(path, "it is not a regular file");
    const std::int64_t size = info.st_size;
    if (size < kLengthBytes) refuse(path, "it has only " + std::to_string(size) + " bytes");
    std::uint64_t length = 0;
    read_exactly(file_, path, 0, std::as_writable_bytes(std::span(&length, 1)));
    constexpr std::uint64_t kZip = 0x4b50;  // "PK", with which torch.save begins
    if ((length & 0xffff) == kZip && length > static_cast<std::uint64_t>(kMaxHeaderBytes))
        refuse(path, "it is a torch.save file; write its state_dict with safetensors.torch.save_file");
    if (length > static_cast<std::uint64_t>(std::min(kMaxHeaderBytes, size - kLengthBytes)))
        refuse(path, "a header of " + std::to_string(length) + " bytes does not fit into its " +
                         std::to_string(size) + " bytes");
    std::string text(static_cast<std::size_t>(length), '\0');
    read_exactly(file_, path, kLengthBytes, std::as_writable_bytes(std::span(text)));
    data_begin_ = kLengthBytes + static_cast<std::int64_t>(length);

    const Json header = parse_header(path, text);
    for (const auto& [name, value] : header.items()) {
        if (name == "__metadata__")
            metadata_ = read_metadata(path, value);
        else
            tensors_.push_back(read_entry(path, name, value));
    }
    std::stable_sort(tensors_.begin(), tensors_.end(), [](const TensorEntry& a, const TensorEntry& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::int64_t at = 0;
    for (const TensorEntry& entry : tensors_) {
        if (entry.begin < at) refuse(path, entry.name + ": overlaps the tensor before it");
        if (entry.begin > at) refuse(path, entry.name + ": there is a hole before it");
        at = entry.end;
    }
    if (at != size - data_begin_)
        refuse(path, "its tensors take " + std::to_string(at) + " bytes, but it holds " +
                         std::to_string(size - data_begin_));
    closer.keep = true;
}

SafetensorsFile::~SafetensorsFile() {
    ::close(file_);
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
    const auto it = std::find_if(tensors_.begin(), tensors_.end(),
                                 [&](const TensorEntry& entry) { return entry.name == name; });
    return it == tensors_.end() ? nullptr : &*it;
}

std::vector<std::byte> SafetensorsFile::read(const TensorEntry& entry) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.bytes()));
    read_exactly(file_, path_, data_begin_ + entry.begin, bytes);
    return bytes;
}

void SafetensorsWriter::declare(const std::string& name, FileType type, const Shape& shape) {
    MPT_CHECK(!header_written_, "declare " + name + " before the first write");
    const std::int64_t begin = declared_.empty() ? 0 : declared_.back().end;
    const std::int64_t bytes = shape.num_elements() * static_cast<std::int64_t>(size_of(type));
    declared_.push_back({name, type, shape, begin, begin + bytes});
}

void SafetensorsWriter::write_header() {
    OrderedJson header;
    header["__metadata__"] = {{"format", "pt"}};
    for (const TensorEntry& entry : declared_)
        header[entry.name] = {{"dtype", name_of(entry.type)},
                              {"shape", entry.shape.dims()},
                              {"data_offsets", {entry.begin, entry.end}}};
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors begin on a multiple of 8
    const auto length = static_cast<std::uint64_t>(text.size());
    file_.write(std::as_bytes(std::span(&length, 1)));
    file_.write(text);
    header_written_ = true;
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
    if (!header_written_) write_header();
    MPT_CHECK(written_ < declared_.size(), "more tensors written than declared");
    const TensorEntry& entry = declared_[written_++];
    MPT_CHECK(static_cast<std::int64_t>(bytes.size()) == entry.bytes(), entry.name + ": wrong size");
    file_.write(bytes);
}

FileDigest SafetensorsWriter::finish() {
    if (!header_written_) write_header();
    MPT_CHECK(written_ == declared_.size(), "fewer tensors written than declared");
    file_.finish();
    return {file_.crc32(), file_.bytes()};
}

}  // namespace mpt
