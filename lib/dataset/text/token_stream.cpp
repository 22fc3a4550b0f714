#include "dataset/text/token_stream.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "core/available_memory.h"
#include "core/error.h"
#include "dataset/data_file.h"
#include "dataset/text/content_hash.h"

namespace mpt {

static_assert(std::endian::native == std::endian::little, "shards are mapped as they are");

// A shard: its 16-bit tokens behind the header.
class MappedFile {
  public:
    explicit MappedFile(const std::string& path) : path_(path) {
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored)) fail("no such file");
        if (!std::filesystem::is_regular_file(path, ignored)) fail("not a regular file");
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
        struct stat status {};
        const bool known = ::fstat(file, &status) == 0;
        size_ = known ? static_cast<std::size_t>(status.st_size) : 0;
        if (size_ != 0) address_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
        const int error = errno;
        ::close(file);
        if (size_ == 0) fail("the file is empty: 0 tokens");
        if (address_ == MAP_FAILED && error == ENOMEM) refuse_size();
        if (address_ == MAP_FAILED) fail(std::string("cannot be mapped: ") + std::strerror(error));
    }
    ~MappedFile() { ::munmap(address_, size_); }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::size_t size() const { return size_; }
    const std::uint8_t* bytes() const { return static_cast<const std::uint8_t*>(address_); }
    std::span<const std::uint16_t> tokens() const {
        return {reinterpret_cast<const std::uint16_t*>(bytes() + header_bytes_), (size_ - header_bytes_) / 2};
    }
    void set_header(std::size_t header) { header_bytes_ = header; }
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(ExitCode::kData, path_ + ": " + what);
    }

  private:
    [[noreturn]] void refuse_size() const {
        throw Error(ExitCode::kResource, path_ + ": takes " + print_bytes(static_cast<std::int64_t>(size_)) +
                                             " of address space, there is " + print(available_memory()) +
                                             "; take fewer shards, or smaller ones");
    }

    std::string path_;
    std::size_t size_ = 0, header_bytes_ = 0;
    void* address_ = MAP_FAILED;
};

namespace {

constexpr std::size_t kHeaderBytes = 256 * 4;
constexpr std::int32_t kMagic = 20240520;

void check_llmc_header(MappedFile& file) {
    std::array<std::int32_t, 3> header{};
    if (file.size() < kHeaderBytes) {
        file.fail("a header of 1024 bytes is expected (llm.c), the file has " + std::to_string(file.size()));
    }
    std::memcpy(header.data(), file.bytes(), sizeof header);
    if (header[1] != 1) {
        file.fail("version " + std::to_string(header[1]) +
                  " of llm.c's token shards; read is version 1 (16-bit tokens): write it again in that one");
    }
    const std::uint64_t expected = kHeaderBytes + 2 * static_cast<std::uint64_t>(std::max(header[2], 0));
    if (header[2] < 1 || file.size() != expected) {
        file.fail("the header says " + std::to_string(header[2]) + " tokens (" + std::to_string(expected) +
                  " bytes), the file has " + std::to_string(file.size()) + " bytes; write it again");
    }
    file.set_header(kHeaderBytes);
}

// What is no row of 16-bit tokens but would pass for one.
void refuse_other_formats(const MappedFile& file, std::int32_t magic) {
    constexpr std::int32_t kLlama3Magic = 20240801;
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes()),
                                 std::min<std::size_t>(file.size(), 64));
    constexpr const char* kRemedy =
        "; write the tokens as uint16, one behind the other (ids.astype(numpy.uint16).tofile(path))";
    if (magic == kLlama3Magic)
        file.fail(
            std::string("a token shard of llm.c for Llama 3, with 32-bit tokens; read are 16-bit ones") +
            kRemedy);
    if (bytes.starts_with("\x93NUMPY"))
        file.fail(std::string("a NumPy array (.npy), no row of tokens") + kRemedy);
    // A first token may well be 0x8b1f; that gzip's method and flags follow is no chance.
    const bool gzip =
        bytes.size() >= 10 && bytes.starts_with("\x1f\x8b\x08") && static_cast<std::uint8_t>(bytes[3]) < 0x20;
    std::string packed = packed_as({file.bytes(), bytes.size()});
    if (packed == "gzip data" && !gzip) packed.clear();
    if (!packed.empty()) file.fail(packed + ", no row of tokens; unpack it");
}

// The halves of 32-bit ids pass for tokens, too, as every second one is 0.
void refuse_wide_ids(const MappedFile& file) {
    constexpr std::size_t kLookedAt = 4096, kFewest = 64;
    const auto tokens = file.tokens().first(std::min(kLookedAt, file.tokens().size()));
    if (tokens.size() < kFewest) return;
    bool low = false, high = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) (i % 2 == 0 ? low : high) |= tokens[i] != 0;
    if (high) return;
    const std::string first = "of the first " + std::to_string(tokens.size()) + " tokens ";
    if (low) file.fail(first + "every second one is 0: these look like 32-bit ids; write them as uint16");
    if (tokens.size() == kLookedAt)
        file.fail(first + "all are 0: it was not written to its end; write it again");
}

void check_tokens(const MappedFile& file, std::int32_t vocabulary_size) {
    const auto tokens = file.tokens();
    // The greatest first: that loop is vectorised and runs at the speed of memory.
    std::uint16_t greatest = 0;
    for (const std::uint16_t token : tokens) greatest = std::max(greatest, token);
    if (greatest < vocabulary_size) return;
    const auto bad = std::find_if(tokens.begin(), tokens.end(), [&](auto t) { return t >= vocabulary_size; });
    file.fail("token " + std::to_string(*bad) + " at position " + std::to_string(bad - tokens.begin()) +
              " is not in the vocabulary, allowed are 0.." + std::to_string(vocabulary_size - 1) +
              "; was the shard written with another tokenizer?");
}

std::shared_ptr<const MappedFile> open_shard(const std::string& path, std::int32_t vocabulary_size) {
    auto file = std::make_shared<MappedFile>(path);
    std::int32_t magic = 0;
    if (file->size() >= sizeof magic) std::memcpy(&magic, file->bytes(), sizeof magic);
    refuse_other_formats(*file, magic);
    if (magic == kMagic) {
        check_llmc_header(*file);
    } else if (file->size() % 2 != 0) {
        file->fail("its size of " + std::to_string(file->size()) + " bytes is odd: no row of 16-bit tokens");
    }
    refuse_wide_ids(*file);
    check_tokens(*file, vocabulary_size);
    return file;
}

}  // namespace

TokenStream TokenStream::from_ids(TokenIds ids) {
    TokenStream stream;
    stream.num_tokens_ = static_cast<std::int64_t>(ids.size());
    Part part;
    part.count = stream.num_tokens_;
    part.ids = std::make_shared<const TokenIds>(std::move(ids));
    stream.parts_.push_back(std::move(part));
    return stream;
}

void TokenStream::copy(std::int64_t first, std::span<TokenId> out) const {
    MPT_CHECK(first >= 0 && first + static_cast<std::int64_t>(out.size()) <= num_tokens_);
    auto part = std::upper_bound(parts_.begin(), parts_.end(), first,
                                 [](std::int64_t at, const Part& p) { return at < p.start; });
    if (part != parts_.begin()) --part;
    for (std::size_t done = 0; done < out.size(); ++part) {
        const std::int64_t skip = first + static_cast<std::int64_t>(done) - part->start;
        const std::size_t from = static_cast<std::size_t>(part->offset + skip);
        const std::size_t count = std::min(out.size() - done, static_cast<std::size_t>(part->count - skip));
        const auto target = out.begin() + static_cast<std::ptrdiff_t>(done);
        if (part->ids) {
            std::copy_n(part->ids->data() + from, count, target);
        } else {
            std::copy_n(part->shard->tokens().data() + from, count, target);
        }
        done += count;
    }
}

TokenStream TokenStream::slice(std::int64_t first, std::int64_t count) const {
    MPT_CHECK(first >= 0 && count >= 0 && first + count <= num_tokens_);
    TokenStream result;
    result.num_tokens_ = count;
    for (const Part& part : parts_) {
        const std::int64_t begin = std::max(first, part.start);
        const std::int64_t end = std::min(first + count, part.start + part.count);
        if (begin >= end) continue;
        Part cut = part;
        cut.start = begin - first;
        cut.count = end - begin;
        cut.offset += begin - part.start;
        result.parts_.push_back(std::move(cut));
    }
    return result;
}

std::int64_t TokenStream::memory_bytes() const {
    std::int64_t bytes = 0;
    for (const Part& part : parts_) {
        if (part.ids) bytes += static_cast<std::int64_t>(part.ids->size() * sizeof(TokenId));
    }
    return bytes;
}

std::uint64_t TokenStream::fingerprint() const {
    // Shards may be larger than memory: 1024 blocks of 64 tokens, evenly spread, and the last one.
    constexpr std::int64_t kBlock = 64, kBlocks = 1024;
    ContentHash hash;
    for (const Part& part : parts_) {
        const auto offset = static_cast<std::size_t>(part.offset),
                   count = static_cast<std::size_t>(part.count);
        if (part.ids) {
            hash.add(std::span<const TokenId>(*part.ids).subspan(offset, count));
            continue;
        }
        const auto tokens = part.shard->tokens().subspan(offset, count);
        hash.add(count);
        const std::int64_t step = std::max(kBlock, part.count / kBlocks);
        for (std::int64_t at = 0; at < part.count; at += step)
            hash.add(tokens.subspan(static_cast<std::size_t>(at),
                                    static_cast<std::size_t>(std::min(kBlock, part.count - at))));
        hash.add(tokens.last(std::min(tokens.size(), static_cast<std::size_t>(kBlock))));
    }
    return hash.value();
}

TokenStream open_token_shards(const std::vector<std::string>& paths, std::int32_t vocabulary_size) {
    TokenStream stream;
    for (const std::string& path : paths) {
        TokenStream::Part part;
        part.shard = open_shard(path, vocabulary_size);
        part.start = stream.num_tokens_;
        part.count = static_cast<std::int64_t>(part.shard->tokens().size());
        stream.num_tokens_ += part.count;
        stream.parts_.push_back(std::move(part));
    }
    return stream;
}

std::vector<std::string> token_shard_paths(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) return {path};
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(path)) {
        if (entry.is_regular_file() && entry.path().extension() == ".bin")
            paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    if (paths.empty()) throw Error(ExitCode::kData, path + ": no token shard (*.bin) in this folder");
    return paths;
}

}  // namespace mpt
