// IDX files as of yann.lecun.com/exdb/mnist: big-endian magic and sizes, then the bytes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "core/error.h"
#include "dataset/data_file.h"
#include "dataset/image_readers.h"
#include "dataset/memory_images.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kImagesMagic = 0x00000803;  // u8, 3 dimensions
constexpr std::uint32_t kLabelsMagic = 0x00000801;  // u8, 1 dimension
constexpr std::uint32_t kMaxSide = 16384;
constexpr std::uint32_t kMaxSamples = 0x7fffffff;

std::string hex(std::uint32_t value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%08X", value);
    return text.data();
}

// The one of the usual spellings that exists, else nothing.
std::optional<fs::path> find_file(const fs::path& folder, const std::string& stem, const std::string& kind) {
    for (const char* separator : {"-", "."}) {
        for (const char* ending : {"", ".gz"}) {
            fs::path path = folder / (stem + separator + kind + "-ubyte" + ending);
            std::error_code ignored;
            if (fs::exists(path, ignored)) return path;
        }
    }
    return std::nullopt;
}

struct IdxPaths {
    std::optional<fs::path> images, labels;
};

std::string stem_of(Split split, const char* what) {
    return std::string(split == Split::kTrain ? "train-" : "t10k-") + what;
}

IdxPaths find_files(const SourceOptions& options) {
    const fs::path folder = fs::absolute(options.path);
    return {find_file(folder, stem_of(options.split, "images"), "idx3"),
            find_file(folder, stem_of(options.split, "labels"), "idx1")};
}

// Reads the magic and `num_sizes` sizes; a magic that is not `expected` is named together with a guess.
std::array<std::uint32_t, 3> read_header(DataFile& file, std::uint32_t expected, std::size_t num_sizes) {
    std::array<std::uint8_t, 64> raw{};
    const std::size_t header = 4 + 4 * num_sizes;
    std::size_t got = file.read(std::span(raw).first(header));
    if (got < 4) {
        throw Error(ExitCode::kData, file.path() + ": expected an IDX header of " + std::to_string(header) +
                                         " bytes, the file has " + std::to_string(got));
    }
    const auto word = [&raw](std::size_t i) {
        return std::uint32_t{raw[4 * i]} << 24 | std::uint32_t{raw[4 * i + 1]} << 16 |
               std::uint32_t{raw[4 * i + 2]} << 8 | std::uint32_t{raw[4 * i + 3]};
    };
    const std::uint32_t magic = word(0);
    if (magic != expected) {
        if (got == header) got += file.read(std::span(raw).subspan(header));
        std::string guess = looks_like(std::span(raw).first(got));
        if (magic == kLabelsMagic) guess = "a label file";
        if (magic == kImagesMagic) guess = "an image file";
        throw Error(ExitCode::kData, file.path() + ": magic found " + hex(magic) + ", expected " +
                                         hex(expected) +
                                         (expected == kImagesMagic ? " (IDX images)" : " (IDX labels)") +
                                         (guess.empty() ? "" : ": this is " + guess));
    }
    if (got < header) {
        throw Error(ExitCode::kData, file.path() + ": expected an IDX header of " + std::to_string(header) +
                                         " bytes, the file has " + std::to_string(got));
    }
    return {word(1), num_sizes > 1 ? word(2) : 1, num_sizes > 2 ? word(3) : 1};
}

void check_count(const DataFile& file, std::uint32_t count) {
    if (count == 0) throw Error(ExitCode::kData, file.path() + ": has 0 samples");
    if (count > kMaxSamples) {
        throw Error(ExitCode::kData, file.path() + ": its header claims " + std::to_string(count) +
                                         " samples, allowed are 1.." + std::to_string(kMaxSamples));
    }
}

// Leaves `bytes` of data in the buffer, or throws when the file does not hold exactly these.
ByteBuffer read_data(DataFile& file, std::size_t header, std::uint64_t bytes, const std::string& meaning) {
    file.expect_size(header + bytes, meaning);
    ByteBuffer data(static_cast<std::size_t>(bytes));
    const std::size_t got = file.read(data.bytes());
    if (got != bytes) {
        throw Error(ExitCode::kData, file.path() + ": expected " + std::to_string(header + bytes) +
                                         " bytes (" + meaning + "), it has " + std::to_string(header + got));
    }
    file.expect_end();
    return data;
}

ByteBuffer read_images(const std::string& path, std::int64_t& count, ImageGeometry& geometry) {
    DataFile file(path);
    const auto [images, height, width] = read_header(file, kImagesMagic, 3);
    check_count(file, images);
    if (height == 0 || width == 0 || height > kMaxSide || width > kMaxSide) {
        throw Error(ExitCode::kData, path + ": its header claims images of " + std::to_string(height) + "x" +
                                         std::to_string(width) + ", allowed sides are 1.." +
                                         std::to_string(kMaxSide));
    }
    count = images;
    geometry = {height, width, 1};
    // At most 2^31 * 2^28: no overflow in 64 bits.
    const std::uint64_t bytes = std::uint64_t{images} * height * width;
    return read_data(file, 16, bytes,
                     std::to_string(images) + " images of " + std::to_string(height) + "x" +
                         std::to_string(width) + " and a header of 16 bytes");
}

ByteBuffer read_labels(const std::string& path) {
    DataFile file(path);
    const std::uint32_t count = read_header(file, kLabelsMagic, 1)[0];
    check_count(file, count);
    return read_data(file, 8, count, std::to_string(count) + " labels and a header of 8 bytes");
}

}  // namespace

std::optional<std::string> missing_idx_files(const SourceOptions& options) {
    const IdxPaths paths = find_files(options);
    if (paths.images && paths.labels) return std::nullopt;
    const std::string name = stem_of(options.split, paths.images ? "labels-idx1-ubyte" : "images-idx3-ubyte");
    return name + " (or " + name + ".gz)";
}

std::unique_ptr<ImageSource> read_idx(const SourceOptions& options) {
    const IdxPaths paths = find_files(options);
    MPT_CHECK(paths.images && paths.labels);
    const std::string images_path = paths.images->string(), labels_path = paths.labels->string();

    ImageSetInfo info;
    info.origin = fs::absolute(options.path).string();
    info.num_classes = options.num_classes;
    const ByteBuffer labels = read_labels(labels_path);
    check_labels(labels_path, labels.bytes(), options.num_classes);
    ByteBuffer images = read_images(images_path, info.num_samples, info.geometry);
    if (labels.size() != static_cast<std::size_t>(info.num_samples)) {
        throw Error(ExitCode::kData, images_path + " has " + std::to_string(info.num_samples) +
                                         " images, but " + labels_path + " has " +
                                         std::to_string(labels.size()) + " labels");
    }
    return keep_in_memory(std::move(info), std::move(images),
                          std::vector<std::int32_t>(labels.data(), labels.data() + labels.size()),
                          options.limit);
}

}  // namespace mpt
