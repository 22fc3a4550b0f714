// Whole files and parts of files in one read, into memory that is used again.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "dataset/pictures/picture_store.h"

namespace mpt {
namespace {

[[noreturn]] void fail(const char* what) {
    throw Error(ExitCode::kData, std::string(what) + ": " + std::strerror(errno));
}

std::uint64_t size_of(int descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0) fail("cannot be read");
    if (!S_ISREG(status.st_mode)) throw Error(ExitCode::kData, "is no regular file");
    return static_cast<std::uint64_t>(status.st_size);
}

void read_all(int descriptor, std::uint64_t offset, std::span<std::uint8_t> out) {
    for (std::size_t at = 0; at < out.size();) {
        const ssize_t got =
            pread(descriptor, out.data() + at, out.size() - at, static_cast<off_t>(offset + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail("cannot be read");
        if (got == 0)
            throw Error(ExitCode::kData, "cut off: ends " + std::to_string(out.size() - at) +
                                             " bytes before the end of the picture");
        at += static_cast<std::size_t>(got);
    }
}

}  // namespace

OpenFile::OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail("cannot be opened");
}
OpenFile::~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

std::span<const std::uint8_t> OpenFile::read(std::uint64_t offset, std::uint64_t size,
                                             ByteBuffer& buffer) const {
    if (size > kMaxPictureBytes)
        throw Error(ExitCode::kData, "has " + std::to_string(size) + " bytes, a picture may have " +
                                         std::to_string(kMaxPictureBytes));
    if (buffer.size() < size) {
        buffer = {};
        buffer = ByteBuffer(static_cast<std::size_t>(size + size / 4));
    }
    const std::span<std::uint8_t> bytes = buffer.bytes().first(static_cast<std::size_t>(size));
    read_all(descriptor_, offset, bytes);
    return bytes;
}

std::span<const std::uint8_t> OpenFile::read_whole(ByteBuffer& buffer) const {
    return read(0, size_of(descriptor_), buffer);
}

}  // namespace mpt
