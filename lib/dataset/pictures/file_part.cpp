// Whole files and parts of files in one read, into memory that is used again.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "dataset/pictures/picture_store.h"

namespace mpt {
void fail_system(const std::string& what, int reason) {
    const std::string text = what + ": " + std::strerror(reason);
    if (reason == EMFILE) throw Error(ExitCode::kResource, text + "; raise the limit (ulimit -n)");
    throw Error(reason == ENFILE || reason == ENOMEM ? ExitCode::kResource : ExitCode::kData, text);
}

OpenFile::OpenFile(const std::string& path)
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail_system("cannot be opened", errno);
    struct stat status {};
    if (fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
        size_ = static_cast<std::uint64_t>(status.st_size);
        return;
    }
    close(descriptor_);
    throw Error(ExitCode::kData, S_ISDIR(status.st_mode) ? "is a folder" : "is no regular file");
}
OpenFile::~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

bool OpenFile::read_at(std::uint64_t offset, std::span<std::uint8_t> out) const {
    for (std::size_t at = 0; at < out.size();) {
        const ssize_t got =
            pread(descriptor_, out.data() + at, out.size() - at, static_cast<off_t>(offset + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_system("cannot be read", errno);
        if (got == 0) return false;
        at += static_cast<std::size_t>(got);
    }
    return true;
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
    if (!read_at(offset, bytes))
        throw Error(ExitCode::kData, "cut off: it ends before byte " + std::to_string(offset + size) +
                                         ", where the picture ends");
    return bytes;
}

std::span<const std::uint8_t> OpenFile::read_whole(ByteBuffer& buffer) const {
    return read(0, size_, buffer);
}

std::string text_of_file(const std::string& path) {
    try {
        const OpenFile file(path);
        std::string text(static_cast<std::size_t>(file.size()), '\0');
        if (!file.read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}))
            throw Error(ExitCode::kData, "ends while it is read");
        return text;
    } catch (const Error& error) {
        throw Error(error.code(), path + ": " + error.what());
    }
}

}  // namespace mpt
