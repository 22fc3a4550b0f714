#include "dataset/pictures/shard_writer.h"

#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "dataset/pictures/tar_index.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
    throw Error(ExitCode::kResource, path + ": cannot be written: " + std::strerror(errno));
}

void write_whole(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) fail(path);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                         std::fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (std::fclose(file) != 0 || !written) fail(path);
}

// From FILE.partial.
void give_name(const std::string& path) {
    if (std::rename((path + ".partial").c_str(), path.c_str()) != 0) fail(path);
}

void remove_both(const std::string& path) {
    std::remove((path + ".partial").c_str());
    std::remove(path.c_str());
}

std::string numbered(const char* format, std::size_t number) {
    char text[32];
    std::snprintf(text, sizeof(text), format, number);
    return text;
}

}  // namespace

ShardWriter::ShardWriter(std::string folder, std::string split, std::vector<std::string> class_names,
                         std::uint64_t shard_bytes)
    : folder_(std::move(folder)), split_(std::move(split)), shard_bytes_(shard_bytes), made_(folder_) {
    index_.class_names = std::move(class_names);
    index_.has_checksums = true;
    for (const std::string& name : index_.class_names)
        if (name.find('\n') != std::string::npos)
            throw Error(ExitCode::kData,
                        "class '" + name + "': its name has a line end in it; rename the folder");
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(split_ + "-") && !name.starts_with(split_ + ".index")) continue;
        const std::string path = entry.path().string();
        throw Error(ExitCode::kUsage,
                    name.ends_with(".partial")
                        ? path + ": a packing that was killed has left it, or one is under way; remove it"
                        : path + ": is there already; choose another --output or remove it");
    }
}

ShardWriter::~ShardWriter() {
    if (finished_) return;
    file_.reset();
    for (const ShardFile& shard : index_.shards) remove_both(folder_ + "/" + shard.file);
    remove_both(folder_ + "/" + split_ + ".index");
}

void ShardWriter::write(const void* data, std::size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_.get()) != bytes) fail(partial_path());
    ShardFile& shard = index_.shards.back();
    shard.checksum =
        static_cast<std::uint32_t>(crc32_z(shard.checksum, static_cast<const Bytef*>(data), bytes));
    shard.bytes += bytes;
}

void ShardWriter::write_member(const std::string& name, std::span<const std::uint8_t> contents) {
    static constexpr std::array<char, kTarBlock> kZeros{};
    const std::string header = tar_header(name, contents.size());
    write(header.data(), header.size());
    write(contents.data(), contents.size());
    write(kZeros.data(), (kTarBlock - contents.size() % kTarBlock) % kTarBlock);
}

void ShardWriter::open_shard() {
    const std::string file = split_ + numbered("-%06zu.tar", index_.shards.size());
    index_.shards.push_back({file, 0, 0, static_cast<std::uint32_t>(index_.pictures.size())});
    file_.reset(std::fopen(partial_path().c_str(), "wb"));
    if (!file_) fail(partial_path());
}

void ShardWriter::close_shard() {
    if (!file_) return;
    static constexpr std::array<char, 2 * kTarBlock> kEnd{};
    write(kEnd.data(), kEnd.size());
    const bool flushed = std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0;
    if (std::fclose(file_.release()) != 0 || !flushed) fail(partial_path());
}

void ShardWriter::add(std::span<const std::uint8_t> picture, const std::string& extension,
                      std::int32_t label) {
    MPT_CHECK(label >= 0 && label < static_cast<std::int32_t>(index_.class_names.size()));
    if (file_ && index_.shards.back().bytes + picture.size() > shard_bytes_) close_shard();
    if (!file_) open_shard();
    const std::string key = numbered("%09zu", index_.pictures.size());
    const std::string digits = std::to_string(label);
    index_.pictures.push_back(
        {index_.shards.back().bytes + kTarBlock, static_cast<std::uint32_t>(picture.size()), label});
    write_member(key + "." + extension, picture);
    write_member(key + ".cls", {reinterpret_cast<const std::uint8_t*>(digits.data()), digits.size()});
}

void ShardWriter::finish() {
    close_shard();
    std::string names;
    for (const std::string& name : index_.class_names) names += name + "\n";
    const std::string index = folder_ + "/" + split_ + ".index", classes = folder_ + "/classes.txt";
    write_whole(classes + ".partial", names);
    write_whole(index + ".partial", print(index_));
    give_name(classes);
    for (const ShardFile& shard : index_.shards) give_name(folder_ + "/" + shard.file);
    give_name(index);  // the last: as long as it is a .partial, readers refuse the shards
    finished_ = true;
}

}  // namespace mpt
