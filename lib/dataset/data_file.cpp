#include "dataset/data_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace mpt {
namespace {

// Deflate cannot pack more than this many bytes into one.
constexpr std::uint64_t kMaxDeflateRatio = 1032;

std::string count_of(std::uint64_t bytes) {
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string size_message(std::uint64_t expected, std::uint64_t actual, const std::string& meaning,
                         const char* packing) {
    const std::string fault = actual < expected ? "the file is cut short by " + count_of(expected - actual)
                                                : count_of(actual - expected) + " follow the data";
    return "expected " + count_of(expected) + " (" + meaning + "), it has " + count_of(actual) + packing +
           ": " + fault + "; fetch it again";
}

}  // namespace

struct DataFile::Gzip {
    z_stream stream{};
    std::array<std::uint8_t, 1 << 16> input;
    std::uint64_t input_read = 0;  // packed bytes taken from the file
    bool ended = false;            // the last member's checksum was seen and is right

    Gzip() { MPT_CHECK(inflateInit2(&stream, 15 + 16) == Z_OK); }
    ~Gzip() { inflateEnd(&stream); }
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;
};

void DataFile::fail(const std::string& what) const {
    throw Error(ExitCode::kData, path_ + ": " + what);
}

DataFile::DataFile(const std::string& path) : path_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) fail("no such file");
    if (!std::filesystem::is_regular_file(status)) fail("not a regular file");
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) fail(std::string("cannot be opened: ") + std::strerror(errno));
    size_on_disk_ = std::filesystem::file_size(path, error);
    if (error) fail("cannot be read: " + error.message());
    std::array<std::uint8_t, 2> first{};
    const bool packed = read_plain(first) == 2 && first[0] == 0x1f && first[1] == 0x8b;
    std::rewind(file_.get());
    if (packed) start_gzip();
}

DataFile::~DataFile() = default;

void DataFile::start_gzip() {
    std::rewind(file_.get());
    position_ = 0;
    gzip_ = std::make_unique<Gzip>();
}

std::size_t DataFile::read_plain(std::span<std::uint8_t> out) {
    const std::size_t got = std::fread(out.data(), 1, out.size(), file_.get());
    if (got < out.size() && std::ferror(file_.get())) fail("read error");
    return got;
}

std::size_t DataFile::read(std::span<std::uint8_t> out) {
    const std::size_t got = gzip_ ? read_gzip(out) : read_plain(out);
    position_ += got;
    return got;
}

// Returns false at the end of the file.
bool DataFile::refill() {
    Gzip& gzip = *gzip_;
    if (gzip.stream.avail_in != 0) return true;
    const std::size_t got = read_plain(gzip.input);
    gzip.input_read += got;
    gzip.stream.next_in = gzip.input.data();
    gzip.stream.avail_in = static_cast<uInt>(got);
    return got != 0;
}

// A gzip file may be several joined ones. Anything else after the first is refused by expect_end.
bool DataFile::next_member() {
    Gzip& gzip = *gzip_;
    if (!refill() || *gzip.stream.next_in != 0x1f) return false;
    MPT_CHECK(inflateReset(&gzip.stream) == Z_OK);
    gzip.ended = false;
    return true;
}

void DataFile::fail_inflate(int code, const char* detail) const {
    const std::string_view text = detail ? detail : "";
    if (text == "incorrect data check")
        fail("the gzip checksum (CRC-32) does not match: the file is damaged; fetch it again");
    if (text == "incorrect length check")
        fail("the gzip length check does not match: the file is damaged; fetch it again");
    const std::uint64_t place = gzip_->input_read - gzip_->stream.avail_in;
    fail("the gzip data is damaged near byte " + std::to_string(place) + " (" +
         (text.empty() ? "zlib code " + std::to_string(code) : std::string(text)) + "); fetch it again");
}

std::size_t DataFile::read_gzip(std::span<std::uint8_t> out) {
    Gzip& gzip = *gzip_;
    std::size_t done = 0;
    while (done < out.size()) {
        if (gzip.ended && !next_member()) break;
        if (!refill()) {
            fail("the gzip data is cut short: it ends after " + count_of(size_on_disk_) + ", " +
                 count_of(position_ + done) + " unpacked; fetch it again");
        }
        const std::size_t chunk = std::min<std::size_t>(out.size() - done, 1u << 30);
        gzip.stream.next_out = out.data() + done;
        gzip.stream.avail_out = static_cast<uInt>(chunk);
        const int code = inflate(&gzip.stream, Z_NO_FLUSH);
        done += chunk - gzip.stream.avail_out;
        if (code == Z_STREAM_END)
            gzip.ended = true;
        else if (code != Z_OK)
            fail_inflate(code, gzip.stream.msg);
    }
    return done;
}

std::uint64_t DataFile::unpacked_size() {
    if (!gzip_) return size_on_disk_;
    DataFile copy(path_);
    std::vector<std::uint8_t> scratch(1 << 16);
    while (copy.read(scratch) != 0) {
    }
    copy.expect_end();
    return copy.position_;
}

void DataFile::expect_size(std::uint64_t bytes, const std::string& meaning) {
    if (!gzip_) {
        if (bytes != size_on_disk_) fail(size_message(bytes, size_on_disk_, meaning, ""));
        return;
    }
    // The last four bytes of a gzip file are its unpacked size modulo 2^32: enough to trust it, not to refuse
    // it.
    std::array<std::uint8_t, 4> tail{};
    const long here = std::ftell(file_.get());
    const bool tail_read =
        size_on_disk_ >= 18 && std::fseek(file_.get(), -4, SEEK_END) == 0 && read_plain(tail) == 4;
    if (std::fseek(file_.get(), here, SEEK_SET) != 0) fail("read error");
    std::uint32_t recorded = 0;
    for (int i = 3; i >= 0; --i) recorded = (recorded << 8) | tail[static_cast<std::size_t>(i)];
    if (tail_read && recorded == static_cast<std::uint32_t>(bytes) &&
        bytes / kMaxDeflateRatio <= size_on_disk_)
        return;

    std::uint64_t actual = 0;
    try {
        actual = unpacked_size();
    } catch (const Error& error) {
        throw Error(ExitCode::kData, std::string(error.what()) + " (expected " + count_of(bytes) +
                                         " unpacked: " + meaning + ")");
    }
    if (actual != bytes) fail(size_message(bytes, actual, meaning, " unpacked"));
}

void DataFile::expect_end() {
    std::uint8_t extra = 0;
    const std::uint64_t before = position_;
    // Reading on makes zlib see the checksum when it lies behind the last byte of data.
    if (read({&extra, 1}) != 0)
        fail("has more than the expected " + count_of(before) + (gzip_ ? " unpacked" : ""));
    if (gzip_ && refill()) {
        const std::uint64_t used = gzip_->input_read - gzip_->stream.avail_in;
        fail(count_of(size_on_disk_ - used) + " follow the end of the gzip data; fetch it again");
    }
}

std::string packed_as(std::span<const std::uint8_t> first_bytes) {
    const std::string what = looks_like(first_bytes);
    return what.ends_with("archive") || what.ends_with("data") ? what : "";
}

std::string looks_like(std::span<const std::uint8_t> first_bytes) {
    std::string_view text(reinterpret_cast<const char*>(first_bytes.data()), first_bytes.size());
    if (text.starts_with("\x1f\x8b")) return "gzip data";
    if (text.starts_with("PK\x03\x04")) return "a zip archive";
    if (text.starts_with(std::string_view("\xfd"
                                          "7zXZ\0",
                                          6)))
        return "xz data";
    if (text.size() >= 10 && text.starts_with("BZh") && text.substr(4, 6) == "1AY&SY") return "bzip2 data";
    if (text.starts_with("\x28\xb5\x2f\xfd")) return "zstd data";
    if (text.starts_with("7z\xbc\xaf\x27\x1c")) return "a 7z archive";
    if (text.starts_with("\x89PNG")) return "a PNG picture";
    if (text.starts_with("\xff\xd8\xff")) return "a JPEG picture";
    if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) return "a GIF picture";
    if (text.starts_with("BM")) return "a BMP picture";
    if (text.starts_with(std::string_view("II*\0", 4)) || text.starts_with(std::string_view("MM\0*", 4)))
        return "a TIFF picture";
    if (text.size() >= 12 && text.substr(4, 4) == "ftyp") {
        const std::string_view brand = text.substr(8, 4);
        if (brand == "avif" || brand == "avis") return "an AVIF picture";
        const bool heic =
            brand.starts_with("hei") || brand.starts_with("hev") || brand == "mif1" || brand == "msf1";
        return heic ? "a HEIC picture" : "a video (MP4 or QuickTime)";
    }
    if (text.starts_with("version https://git-lfs")) return "a Git LFS pointer";
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    while (!text.empty() &&
           (text.front() == ' ' || text.front() == '\n' || text.front() == '\r' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    if (text.starts_with("<svg") || (text.starts_with("<?xml") && text.find("<svg") != text.npos))
        return "an SVG drawing";
    if (text.starts_with("<?xml")) return "an XML file";
    if (text.starts_with("<")) return "an HTML page";
    return "";
}

}  // namespace mpt
