// Writes the tar shards of one split, and their index at the end. Until then all files are called
// FILE.partial; without finish() they are removed again.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "dataset/pictures/made_folders.h"
#include "dataset/pictures/shard_index.h"

namespace mpt {

class ShardWriter {
  public:
    // Throws Error(kUsage) when the folder holds shards of this split already.
    ShardWriter(std::string folder, std::string split, std::vector<std::string> class_names,
                std::uint64_t shard_bytes);
    ~ShardWriter();
    ShardWriter(const ShardWriter&) = delete;
    ShardWriter& operator=(const ShardWriter&) = delete;

    // extension: "jpg", "png" or "webp".
    void add(std::span<const std::uint8_t> picture, const std::string& extension, std::int32_t label);
    // Writes the index and gives all files their names.
    void finish();
    const ShardIndex& index() const { return index_; }

  private:
    void open_shard();
    void close_shard();
    void write(const void* data, std::size_t bytes);
    void write_member(const std::string& name, std::span<const std::uint8_t> contents);
    std::string partial_path() const { return folder_ + "/" + index_.shards.back().file + ".partial"; }

    struct CloseFile {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string folder_, split_;
    std::uint64_t shard_bytes_;
    ShardIndex index_;
    std::unique_ptr<std::FILE, CloseFile> file_;
    MadeFolders made_;
    bool finished_ = false;
};

}  // namespace mpt
