// Files that are there whole or not at all, also after a crash or a power cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace mpt {

// A new file, written front to back and flushed to the disk by finish(). Without finish() it is removed
// again. Every failure is Error(kResource) naming the file.
class DurableFile {
  public:
    explicit DurableFile(const std::filesystem::path& path);
    ~DurableFile();
    DurableFile(const DurableFile&) = delete;
    DurableFile& operator=(const DurableFile&) = delete;

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    void finish();
    std::uint32_t crc32() const { return crc_; }  // of what was written so far
    std::int64_t bytes() const { return bytes_; }

  private:
    std::filesystem::path path_;
    int file_ = -1;
    std::uint32_t crc_ = 0;
    std::int64_t bytes_ = 0;
};

void sync_directory(const std::filesystem::path& directory);
// Puts `content` in place of whatever `path` was, through a temporary beside it.
void replace_file(const std::filesystem::path& path, std::string_view content);
std::string read_text_file(const std::filesystem::path& path);  // throws Error(kCheckpoint)

// CRC-32 (as gzip and PNG use it) and size of a file; throws Error(kCheckpoint) when it cannot be read.
struct FileDigest {
    std::uint32_t crc32 = 0;
    std::int64_t bytes = 0;
    bool operator==(const FileDigest&) const = default;
};
FileDigest digest_file(const std::filesystem::path& path);

}  // namespace mpt
