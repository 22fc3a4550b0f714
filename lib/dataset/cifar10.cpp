// CIFAR-10, binary version, as of www.cs.toronto.edu/~kriz/cifar.html: records of one label byte and 3072
// pixels, channel by channel.
#include <algorithm>
#include <array>
#include <filesystem>

#include "core/error.h"
#include "dataset/data_file.h"
#include "dataset/image_readers.h"
#include "dataset/memory_images.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr ImageGeometry kGeometry{32, 32, 3};
constexpr std::size_t kPixels = 32 * 32;
constexpr std::size_t kRecord = 1 + 3 * kPixels;
constexpr std::size_t kNumClasses = 10;
constexpr std::uint64_t kMaxRecords = 0x7fffffff;
constexpr const char* kSubfolder = "cifar-10-batches-bin";

std::vector<std::string> file_names(Split split) {
    if (split == Split::kTest) return {"test_batch.bin"};
    return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
            "data_batch_5.bin"};
}

// The folder that holds the first file: the path itself, or the folder the archive unpacks to.
fs::path folder_of(const SourceOptions& options) {
    const fs::path folder = fs::absolute(options.path);
    std::error_code ignored;
    const std::string first = file_names(options.split).front();
    if (!fs::exists(folder / first, ignored) && fs::is_directory(folder / kSubfolder, ignored)) {
        return folder / kSubfolder;
    }
    return folder;
}

std::uint64_t count_records(DataFile& file) {
    const std::uint64_t bytes = file.unpacked_size();
    if (bytes == 0) throw Error(ExitCode::kData, file.path() + ": has 0 samples");
    if (bytes % kRecord == 0 && bytes / kRecord <= kMaxRecords) return bytes / kRecord;
    std::array<std::uint8_t, 64> first{};
    const std::string guess = looks_like(std::span(first).first(file.read(first)));
    throw Error(
        ExitCode::kData,
        file.path() + ": has " + std::to_string(bytes) + " bytes, expected a multiple of " +
            std::to_string(kRecord) + " (30730000 in the original): " +
            (guess.empty() ? "it is cut short or is not CIFAR-10's binary version" : "this is " + guess));
}

// Planes to interleaved pixels.
void interleave(const std::uint8_t* planes, std::uint8_t* pixels) {
    for (std::size_t i = 0; i < kPixels; ++i) {
        pixels[3 * i] = planes[i];
        pixels[3 * i + 1] = planes[kPixels + i];
        pixels[3 * i + 2] = planes[2 * kPixels + i];
    }
}

void read_records(DataFile& file, std::uint64_t count, std::uint8_t* images, std::uint8_t* labels) {
    std::array<std::uint8_t, kRecord> record{};
    for (std::uint64_t i = 0; i < count; ++i) {
        if (file.read(record) != kRecord) {
            throw Error(ExitCode::kData, file.path() + ": ends within record " + std::to_string(i));
        }
        labels[i] = record[0];
        interleave(record.data() + 1, images + i * 3 * kPixels);
    }
    file.expect_end();
}

std::vector<std::string> read_class_names(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return {};
    DataFile file(path.string());
    std::string text(1 << 16, '\0');
    text.resize(file.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    std::vector<std::string> names(1);
    for (const char c : text) {
        if (c == '\n' && !names.back().empty()) names.emplace_back();
        if (c != '\n' && c != '\r') names.back() += c;
    }
    if (names.back().empty()) names.pop_back();
    if (names.size() != kNumClasses) {
        throw Error(ExitCode::kData, path.string() + ": has " + std::to_string(names.size()) +
                                         " class names, expected " + std::to_string(kNumClasses) +
                                         ", one a line");
    }
    return names;
}

}  // namespace

std::optional<std::string> missing_cifar10_files(const SourceOptions& options) {
    const fs::path folder = folder_of(options);
    std::error_code ignored;
    for (const std::string& name : file_names(options.split)) {
        if (!fs::exists(folder / name, ignored)) return name;
    }
    return std::nullopt;
}

std::unique_ptr<ImageSource> read_cifar10(const SourceOptions& options) {
    const fs::path folder = folder_of(options);
    std::vector<std::unique_ptr<DataFile>> files;
    std::vector<std::uint64_t> counts;
    std::uint64_t total = 0;
    for (const std::string& name : file_names(options.split)) {
        files.push_back(std::make_unique<DataFile>((folder / name).string()));
        counts.push_back(count_records(*files.back()));
        total += counts.back();
    }

    ImageSetInfo info;
    info.origin = folder.string();
    info.geometry = kGeometry;
    info.num_samples = static_cast<std::int64_t>(total);
    info.num_classes = options.num_classes;
    info.class_names = read_class_names(folder / "batches.meta.txt");
    if (options.num_classes != static_cast<std::int64_t>(kNumClasses)) info.class_names.clear();

    ByteBuffer images(total * 3 * kPixels);
    std::vector<std::uint8_t> labels(total);
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        read_records(*files[i], counts[i], images.data() + first * 3 * kPixels, labels.data() + first);
        check_labels(files[i]->path(), std::span(labels).subspan(first, counts[i]), options.num_classes);
        first += counts[i];
    }
    return keep_in_memory(std::move(info), std::move(images),
                          std::vector<std::int32_t>(labels.begin(), labels.end()), options.limit);
}

}  // namespace mpt
