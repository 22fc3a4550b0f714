// Image folders into tar shards, and any data set into an image folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dataset/image_source.h"

namespace mpt {

struct PackOptions {
    std::string input, output;  // folders
    std::int64_t resize =
        0;  // short side; larger pictures become JPEGs of this size, upright; 0: bytes as they are
    int quality = 92;
    std::uint64_t shard_bytes = std::uint64_t{256} << 20;
    std::int64_t shuffle_seed = -1;  // order within the shards; -1: the folder's
    BrokenFiles broken = BrokenFiles::kStop;
    EmptyClasses empty_classes = EmptyClasses::kError;
    int num_threads = 1;
};

struct PackReport {
    std::string split;  // train or val
    std::int64_t num_pictures = 0, num_shards = 0, num_broken = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> notices;
};

// Packs train and, where it is there, val: both or, after an error or Stopped, nothing. What can be known of
// val is checked before anything is packed, and it is packed first, being the smaller one.
std::vector<PackReport> pack_folder(const PackOptions& options, const AskStop& stop);

enum class ExportFormat { kPng, kJpeg };
struct ExportOptions {
    std::string output;
    ExportFormat format = ExportFormat::kPng;
    int quality = 95;
};

struct ExportSplit {
    std::string folder;  // train or val
    const ImageSource* source = nullptr;
};

// OUTPUT/FOLDER/<class>/<number>.png, numbered so that the folder's order is the source's; classes without
// names, or whose names would be sorted otherwise, get their number in front. All splits or, after an error
// or Stopped, none: until the end their folders are called FOLDER.partial.
void export_images(std::span<const ExportSplit> splits, const ExportOptions& options, const AskStop& stop);

}  // namespace mpt
