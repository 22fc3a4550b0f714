// Data set files for the tests, written byte by byte into a temporary folder.
#pragma once

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpt::test {

using Bytes = std::vector<std::uint8_t>;

// Removed with everything in it at the end of the scope.
class DataFolder {
  public:
    explicit DataFolder(const std::string& name = "data") {
        std::string pattern = (std::filesystem::temp_directory_path() / "mpt_dataset_XXXXXX").string();
        if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
        root_ = pattern;
        std::filesystem::create_directories(root_ / name);
        folder_ = root_ / name;
    }
    ~DataFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    DataFolder(const DataFolder&) = delete;
    DataFolder& operator=(const DataFolder&) = delete;

    std::string path() const { return folder_.string(); }
    std::string file(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const Bytes& bytes) const {
        std::filesystem::create_directories((folder_ / name).parent_path());
        remove(name);  // some file systems flush a file that is overwritten
        std::ofstream out(folder_ / name, std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        if (!out.flush()) throw std::runtime_error("cannot write " + name);
    }
    void write(const std::string& name, const std::string& text) const {
        write(name, Bytes(text.begin(), text.end()));
    }
    void remove(const std::string& name) const { std::filesystem::remove(folder_ / name); }

  private:
    std::filesystem::path root_, folder_;
};

inline Bytes gzip(const Bytes& bytes) {
    z_stream stream{};
    if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::runtime_error("deflateInit2 failed");
    }
    Bytes out(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 32);
    stream.next_in = const_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int code = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    if (code != Z_STREAM_END) throw std::runtime_error("deflate failed");
    return out;
}

inline void append_u32(Bytes& bytes, std::uint32_t value) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

// Pixel `at` of image `sample`: anything that differs from place to place.
inline std::uint8_t idx_pixel(std::size_t sample, std::size_t at) {
    return static_cast<std::uint8_t>(sample * 31 + at * 7 + sample * at % 13);
}

inline Bytes idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
    Bytes bytes;
    for (const std::uint32_t word : {0x00000803u, count, height, width}) append_u32(bytes, word);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t at = 0; at < std::size_t{height} * width; ++at) bytes.push_back(idx_pixel(i, at));
    }
    return bytes;
}

// Label of sample i: i modulo 10.
inline Bytes idx_labels(std::uint32_t count) {
    Bytes bytes;
    for (const std::uint32_t word : {0x00000801u, count}) append_u32(bytes, word);
    for (std::uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(i % 10));
    return bytes;
}

inline void write_idx(const DataFolder& folder, std::uint32_t count, std::uint32_t height = 4,
                      std::uint32_t width = 5) {
    folder.write("train-images-idx3-ubyte", idx_images(count, height, width));
    folder.write("train-labels-idx1-ubyte", idx_labels(count));
}

// Byte `at` of the 3072 of a CIFAR-10 record: plane by plane.
inline std::uint8_t cifar_byte(std::size_t record, std::size_t at) {
    return static_cast<std::uint8_t>(record * 17 + at * 3 + at / 1024 * 50);
}

inline Bytes cifar_records(std::size_t first, std::size_t count) {
    Bytes bytes;
    for (std::size_t i = first; i < first + count; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(i % 10));
        for (std::size_t at = 0; at < 3072; ++at) bytes.push_back(cifar_byte(i, at));
    }
    return bytes;
}

// Five training files of `count` records each, and a test file of as many.
inline void write_cifar10(const DataFolder& folder, std::size_t count, const std::string& prefix = "") {
    for (std::size_t i = 0; i < 5; ++i) {
        folder.write(prefix + "data_batch_" + std::to_string(i + 1) + ".bin",
                     cifar_records(i * count, count));
    }
    folder.write(prefix + "test_batch.bin", cifar_records(5 * count, count));
}

}  // namespace mpt::test
