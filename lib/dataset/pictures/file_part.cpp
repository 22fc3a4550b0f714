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

class OpenFile {
  public:
    explicit OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (descriptor_ < 0) fail("cannot be opened");
    }
    ~OpenFile() { close(descriptor_); }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    std::uint64_t size() const {
        struct stat status {};
        if (fstat(descriptor_, &status) != 0) fail("cannot be read");
        if (!S_ISREG(status.st_mode)) throw Error(ExitCode::kData, "is no regular file");
        return static_cast<std::uint64_t>(status.st_size);
    }
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const {
        for (std::size_t at = 0; at < out.size();) {
            const ssize_t got =
                pread(descriptor_, out.data() + at, out.size() - at, static_cast<off_t>(offset + at));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) fail("cannot be read");
            if (got == 0)
                throw Error(ExitCode::kData, "cut off: ends " + std::to_string(out.size() - at) +
                                                 " bytes before the end of the picture");
            at += static_cast<std::size_t>(got);
        }
    }

  private:
    [[noreturn]] static void fail(const char* what) {
        throw Error(ExitCode::kData, std::string(what) + ": " + std::strerror(errno));
    }
    int descriptor_;
};

std::span<const std::uint8_t> read_into(const OpenFile& file, std::uint64_t offset, std::uint64_t size,
                                        ByteBuffer& buffer) {
    if (size > kMaxPictureBytes)
        throw Error(ExitCode::kData, "has " + std::to_string(size) + " bytes, a picture may have " +
                                         std::to_string(kMaxPictureBytes));
    if (buffer.size() < size) {
        buffer = {};
        buffer = ByteBuffer(static_cast<std::size_t>(size + size / 4));
    }
    const std::span<std::uint8_t> bytes = buffer.bytes().first(static_cast<std::size_t>(size));
    file.read(offset, bytes);
    return bytes;
}

}  // namespace

std::span<const std::uint8_t> read_picture_file(const std::string& path, ByteBuffer& buffer) {
    const OpenFile file(path);
    return read_into(file, 0, file.size(), buffer);
}

std::span<const std::uint8_t> read_file_part(const std::string& path, std::uint64_t offset,
                                             std::uint64_t size, ByteBuffer& buffer) {
    return read_into(OpenFile(path), offset, size, buffer);
}

}  // namespace mpt
