// The kinds of data sets open_source chooses from; one .cpp each. All of them throw Error(kData).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dataset/image_source.h"

namespace mpt {

// MNIST's format: {train,t10k}-{images-idx3,labels-idx1}-ubyte in a folder, each plain or gzip.
std::unique_ptr<ImageSource> read_idx(const SourceOptions& options);
// CIFAR-10's binary version: data_batch_1..5.bin or test_batch.bin, in a folder or its cifar-10-batches-bin.
std::unique_ptr<ImageSource> read_cifar10(const SourceOptions& options);
// Patterns of the class under noise, made from the seed by integers only; a few images are made and repeated.
std::unique_ptr<ImageSource> make_synthetic(const SourceOptions& options);

// Why the files of a data set are not there, or nothing when all of them exist.
std::optional<std::string> missing_idx_files(const SourceOptions& options);
std::optional<std::string> missing_cifar10_files(const SourceOptions& options);

// Refuses the first label outside 0..num_classes-1, naming file, sample, value and range.
void check_labels(const std::string& path, std::span<const std::uint8_t> labels, std::int64_t num_classes);

}  // namespace mpt
