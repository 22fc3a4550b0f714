// One file of a data set, read front to back, plain or gzip (judged by its content, never by its name).
// Every failure is an Error(kData) that names the file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace mpt {

class DataFile {
  public:
    explicit DataFile(const std::string& path);
    ~DataFile();
    DataFile(const DataFile&) = delete;
    DataFile& operator=(const DataFile&) = delete;

    const std::string& path() const { return path_; }
    bool is_gzip() const { return gzip_ != nullptr; }

    // Reads up to out.size() unpacked bytes; fewer only at the end of the data.
    std::size_t read(std::span<std::uint8_t> out);
    // Refuses a file whose unpacked size is not `bytes`, before anything of that size is allocated.
    // `meaning` says where the number comes from: "60000 images of 28x28".
    void expect_size(std::uint64_t bytes, const std::string& meaning);
    // After all of the data was read: refuses anything that follows, and checks the checksum of a gzip file.
    void expect_end();
    // The unpacked size; a gzip file is unpacked once to learn it (without keeping the data).
    std::uint64_t unpacked_size();

  private:
    struct Gzip;
    std::size_t read_plain(std::span<std::uint8_t> out);
    std::size_t read_gzip(std::span<std::uint8_t> out);
    void start_gzip();
    bool next_member();
    bool refill();
    void fail_inflate(int code, const char* detail) const;
    [[noreturn]] void fail(const std::string& what) const;

    struct CloseFile {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string path_;
    std::unique_ptr<std::FILE, CloseFile> file_;
    std::uint64_t size_on_disk_ = 0;
    std::uint64_t position_ = 0;  // unpacked bytes handed out
    std::unique_ptr<Gzip> gzip_;
};

// What the first bytes look like, for messages: "an HTML page", "gzip data", ...; empty when unknown.
std::string looks_like(std::span<const std::uint8_t> first_bytes);
// The same of archives and packed data alone.
std::string packed_as(std::span<const std::uint8_t> first_bytes);

}  // namespace mpt
