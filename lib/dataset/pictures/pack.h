// Image folders into tar shards, and any data set into an image folder.
#pragma once

#include <functional>
#include <string>

#include "dataset/image_source.h"

namespace mpt {

struct PackOptions {
    std::string input, output;  // folders
    Split split = Split::kTrain;
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
    std::int64_t num_pictures = 0, num_shards = 0, num_broken = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> notices;
};

// `stopped` is asked now and then; the packing ends with Error(kResource) when it says so.
PackReport pack_split(const PackOptions& options, const std::function<bool()>& stopped);

enum class ExportFormat { kPng, kJpeg };
struct ExportOptions {
    std::string output;
    std::string split;  // the folder's name: train or val
    ExportFormat format = ExportFormat::kPng;
    int quality = 95;
};

// OUTPUT/SPLIT/<class>/<number>.png, numbered so that the folder's order is the source's; classes without
// names, or whose names would be sorted otherwise, get their number in front.
void export_images(const ImageSource& source, const ExportOptions& options);

}  // namespace mpt
