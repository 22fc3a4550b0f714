#include "train/durable_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "core/error.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

Error disk_error(const fs::path& path, const char* what, int error) {
    std::string text = path.string() + ": cannot " + what + ": " + std::strerror(error);
    if (error == ENOSPC || error == EDQUOT) text += "; free some space or choose another --output";
    return Error(ExitCode::kResource, text);
}

std::uint32_t extend_crc(std::uint32_t crc, std::span<const std::byte> bytes) {
    return static_cast<std::uint32_t>(
        crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

DurableFile::DurableFile(const fs::path& path) : path_(path) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) throw disk_error(path, "create", errno);
}

DurableFile::~DurableFile() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(path_.c_str());
}

void DurableFile::write(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const std::size_t part = std::min(bytes.size() - done, kChunk);
        const ssize_t n = ::write(file_, bytes.data() + done, part);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw disk_error(path_, "write", errno);
        crc_ = extend_crc(crc_, bytes.subspan(done, static_cast<std::size_t>(n)));
        done += static_cast<std::size_t>(n);
    }
    bytes_ += static_cast<std::int64_t>(bytes.size());
}

void DurableFile::finish() {
    if (::fsync(file_) != 0) throw disk_error(path_, "flush", errno);
    const int file = file_;
    file_ = -1;
    if (::close(file) != 0) throw disk_error(path_, "close", errno);
}

void sync_directory(const fs::path& directory) {
    const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) throw disk_error(directory, "open", errno);
    const int result = ::fsync(file);
    const int error = errno;
    ::close(file);
    // Some file systems cannot flush a directory; they order renames by themselves.
    if (result != 0 && error != EINVAL) throw disk_error(directory, "flush", error);
}

void replace_file(const fs::path& path, std::string_view content) {
    const fs::path temporary = path.string() + ".tmp";
    DurableFile file(temporary);
    file.write(content);
    file.finish();
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        const int error = errno;
        ::unlink(temporary.c_str());
        throw disk_error(path, "replace", error);
    }
    sync_directory(path.parent_path());
}

std::string read_text_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in.is_open() || in.bad()) throw Error(ExitCode::kCheckpoint, path.string() + ": cannot read");
    return text.str();
}

FileDigest digest_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in.is_open() || fs::is_directory(path))
        throw Error(ExitCode::kCheckpoint, path.string() + ": cannot read");
    std::vector<char> chunk(kChunk);
    FileDigest digest;
    while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0) {
        const auto n = static_cast<std::size_t>(in.gcount());
        digest.crc32 = extend_crc(digest.crc32, std::as_bytes(std::span(chunk.data(), n)));
        digest.bytes += in.gcount();
    }
    if (in.bad()) throw Error(ExitCode::kCheckpoint, path.string() + ": cannot read");
    return digest;
}

}  // namespace mpt
