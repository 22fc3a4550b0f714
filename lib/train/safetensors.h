// The safetensors format: 8 bytes of header length (little endian), a JSON header, then the tensors' bytes.
// The reader is strict: whatever it accepts, it has checked, and no length in a file is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "train/durable_file.h"

namespace mpt {

enum class FileType : std::uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL };
std::string_view name_of(FileType type);  // as files spell it
std::size_t size_of(FileType type);
FileType file_type_of(DType type);

struct TensorEntry {
    std::string name;
    FileType type = FileType::F32;
    Shape shape;
    std::int64_t begin = 0, end = 0;  // bytes, behind the header
    std::int64_t bytes() const { return end - begin; }
};

class SafetensorsFile {
  public:
    // Reads and checks the header. Throws Error(kCheckpoint), one line naming the file and the fault.
    explicit SafetensorsFile(const std::filesystem::path& path);
    ~SafetensorsFile();
    SafetensorsFile(const SafetensorsFile&) = delete;
    SafetensorsFile& operator=(const SafetensorsFile&) = delete;

    const std::vector<TensorEntry>& tensors() const { return tensors_; }  // in the order of their bytes
    const std::map<std::string, std::string>& metadata() const { return metadata_; }
    const TensorEntry* find(std::string_view name) const;
    std::vector<std::byte> read(const TensorEntry& entry) const;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    int file_ = -1;
    std::int64_t data_begin_ = 0;
    std::vector<TensorEntry> tensors_;
    std::map<std::string, std::string> metadata_;
};

// Declare every tensor, then write their bytes in that order, then finish().
class SafetensorsWriter {
  public:
    explicit SafetensorsWriter(const std::filesystem::path& path) : file_(path) {}
    void declare(const std::string& name, FileType type, const Shape& shape);
    void write(std::span<const std::byte> bytes);  // exactly one tensor
    FileDigest finish();                           // flushed to the disk

  private:
    void write_header();
    DurableFile file_;
    std::vector<TensorEntry> declared_;
    std::size_t written_ = 0;
    bool header_written_ = false;
};

}  // namespace mpt
