// What tar shards hold: SPLIT.index beside them, written when they are packed, or found out from the
// archives' headers where it is missing. The index is text:
//
//   mpt-train shards 1
//   classes 2
//   cat
//   dog
//   shard train-000000.tar 10240 3610a686 2      file, bytes, CRC-32, pictures
//   512 1833 0                                   offset, bytes, class of each picture
//   3584 2210 1
//   end 2 55bc801d                               pictures in all, CRC-32 of all lines above
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataset/stop.h"

namespace mpt {

struct ShardFile {
    std::string file;  // relative to the folder
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0;  // 0 and unused when found out from headers
    std::uint32_t first = 0;     // its first picture
};

struct ShardPicture {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
    std::int32_t label = 0;
};

struct ShardIndex {
    std::vector<std::string> class_names;
    std::vector<ShardFile> shards;
    std::vector<ShardPicture> pictures;
    bool has_checksums = false;
};

std::string print(const ShardIndex& index);
// Throws Error(kData) that names `origin` and the line.
ShardIndex parse_shard_index(const std::string& text, const std::string& origin);

// classes.txt: a name a line.
std::vector<std::string> read_class_names(const std::string& path);

// From the headers of `files` in `folder`; class names are those of classes.txt there, or numbers:
// `num_classes` of them, 0: those in use.
ShardIndex scan_shards(const std::string& folder, const std::vector<std::string>& files,
                       std::int64_t num_classes, const AskStop& stop = {});

// CRC-32 of a file.
std::uint32_t checksum_of_file(const std::string& path, const AskStop& stop = {});

}  // namespace mpt
