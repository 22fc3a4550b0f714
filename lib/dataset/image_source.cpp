#include "dataset/image_source.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/printable.h"
#include "dataset/byte_buffer.h"
#include "dataset/image_readers.h"
#include "dataset/pictures/picture_source.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxStatisticsBytes = std::int64_t{256} << 20;

// A file kind and what to tell a user who has no such files.
const char* remedy_for(SourceType type) {
    switch (type) {
        case SourceType::kIdx:
            return "set data.path to a folder with IDX files (Fashion-MNIST: `apt install "
                   "dataset-fashion-mnist` "
                   "puts them into /usr/share/datasets/fashion-mnist)";
        case SourceType::kCifar10:
            return "set data.path to the folder that cifar-10-binary.tar.gz unpacks to";
        case SourceType::kImageFolder:
            return "set data.path to a folder with train/<class>/ and val/<class>/";
        case SourceType::kShards:
            return "set data.path to what `mpt-train pack` has written";
        case SourceType::kSynthetic:
            break;
    }
    return "";
}

bool is_pictures(SourceType type) {
    return type == SourceType::kImageFolder || type == SourceType::kShards;
}

// Why the data set is not there, or nothing when it is. A path that cannot be looked at is not "missing".
std::optional<std::string> missing_reason(const SourceOptions& options) {
    if (options.path.empty()) return "data.path is not set";
    const fs::path path = fs::absolute(options.path);
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) return path.string() + ": no such folder";
    if (error) throw Error(ExitCode::kData, path.string() + ": cannot be read: " + error.message());
    if (!fs::is_directory(status)) {
        throw Error(ExitCode::kData, path.string() + ": is not a folder; " + remedy_for(options.type));
    }
    if (is_pictures(options.type)) {
        const std::string what =
            options.type == SourceType::kShards ? missing_shards(options) : missing_image_folder(options);
        return what.empty() ? std::nullopt : std::optional(path.string() + ": has " + what);
    }
    const auto file =
        options.type == SourceType::kIdx ? missing_idx_files(options) : missing_cifar10_files(options);
    if (!file) return std::nullopt;
    return path.string() + ": has no file " + *file;
}

// The geometry of the real images where the config leaves it open.
ImageGeometry synthetic_geometry(const SourceOptions& options) {
    ImageGeometry usual{224, 224, 3};
    if (options.type == SourceType::kIdx) usual = {28, 28, 1};
    if (options.type == SourceType::kCifar10) usual = {32, 32, 3};
    const ImageGeometry& asked = options.geometry;
    return {asked.height ? asked.height : usual.height, asked.width ? asked.width : usual.width,
            asked.channels ? asked.channels : usual.channels};
}

OpenedSource open_synthetic(const SourceOptions& options, const std::string& reason) {
    SourceOptions synthetic = options;
    synthetic.geometry = synthetic_geometry(options);
    OpenedSource opened{make_synthetic(synthetic), "", {}};
    if (!reason.empty()) {
        opened.warning = reason + "; using " + std::to_string(options.synthetic_samples) +
                         " synthetic images of " + to_string(synthetic.geometry) +
                         " instead (data.if_missing: synthetic): accuracy on them means nothing";
    }
    return opened;
}

void check_geometry(const ImageSource& source, const ImageGeometry& asked) {
    const ImageGeometry& found = source.geometry();
    const bool same = (asked.height == 0 || asked.height == found.height) &&
                      (asked.width == 0 || asked.width == found.width) &&
                      (asked.channels == 0 || asked.channels == found.channels);
    if (same) return;
    throw Error(ExitCode::kData, source.info().origin + ": its images are " + to_string(found) +
                                     ", the config asks for " + to_string(asked) +
                                     " (0: any); these files are not resized, change data.image_size");
}

}  // namespace

std::string to_string(const ImageGeometry& geometry) {
    return std::to_string(geometry.height) + "x" + std::to_string(geometry.width) + "x" +
           std::to_string(geometry.channels);
}

void check_labels(const std::string& path, std::span<const std::uint8_t> labels, std::int64_t num_classes) {
    const auto bad = std::find_if(labels.begin(), labels.end(),
                                  [num_classes](std::uint8_t label) { return label >= num_classes; });
    if (bad == labels.end()) return;
    throw Error(ExitCode::kData, path + ": sample " + std::to_string(bad - labels.begin()) + " has label " +
                                     std::to_string(*bad) + ", allowed are 0.." +
                                     std::to_string(num_classes - 1) + " (num_classes " +
                                     std::to_string(num_classes) + ")");
}

ChannelStatistics channel_statistics(const ImageSource& source, const AskStop& stop) {
    const std::int64_t channels = source.geometry().channels, bytes = source.geometry().bytes();
    const std::int64_t used = std::clamp<std::int64_t>(kMaxStatisticsBytes / bytes, 1, source.num_samples());
    ByteBuffer image(static_cast<std::size_t>(bytes));
    const std::size_t num_channels = static_cast<std::size_t>(channels);
    std::vector<std::uint64_t> sum(num_channels), sum_of_squares(num_channels);
    for (std::int64_t i = 0; i < used; ++i) {
        leave_if(stop);
        source.copy_image(i * source.num_samples() / used, image.data());
        for (std::size_t c = 0; c < num_channels; ++c) {
            std::uint64_t s = 0, q = 0;
            for (std::size_t at = c; at < image.size(); at += num_channels) {
                const std::uint32_t pixel = image.data()[at];
                s += pixel;
                q += pixel * pixel;
            }
            sum[c] += s;
            sum_of_squares[c] += q;
        }
    }
    ChannelStatistics statistics;
    const double count = static_cast<double>(used) * static_cast<double>(bytes / channels);
    for (std::size_t c = 0; c < num_channels; ++c) {
        const double mean = static_cast<double>(sum[c]) / count;
        const double variance = static_cast<double>(sum_of_squares[c]) / count - mean * mean;
        statistics.mean.push_back(static_cast<float>(mean / 255));
        statistics.stddev.push_back(static_cast<float>(std::sqrt(std::max(variance, 0.0)) / 255));
    }
    return statistics;
}

OpenedSource open_source(const SourceOptions& options) {
    MPT_CHECK(options.num_classes >= 1 && options.num_classes <= 0x7fffffff);
    if (options.type == SourceType::kSynthetic) return open_synthetic(options, "");
    if (const auto reason = missing_reason(options)) {
        if (options.if_missing == MissingData::kSynthetic) return open_synthetic(options, *reason);
        // Where there are pictures of the other part, made-up ones are no remedy.
        std::error_code ignored;
        const bool part = is_pictures(options.type) && fs::is_directory(options.path, ignored);
        const char* otherwise = part ? ""
                                : options.if_missing == MissingData::kRefused
                                    ? "; training would run on synthetic images (data.if_missing: synthetic)"
                                    : ", or set data.if_missing: synthetic";
        throw Error(ExitCode::kData, *reason + "; " + remedy_for(options.type) + otherwise);
    }
    OpenedSource opened;
    if (is_pictures(options.type)) {
        SourceOptions pictures = options;
        pictures.geometry = synthetic_geometry(options);
        opened.source = open_pictures(pictures, opened.notices);
        for (std::string& notice : opened.notices) notice = printable(notice);  // a line each
        return opened;
    }
    opened.source = options.type == SourceType::kIdx ? read_idx(options) : read_cifar10(options);
    check_geometry(*opened.source, options.geometry);
    return opened;
}

}  // namespace mpt
