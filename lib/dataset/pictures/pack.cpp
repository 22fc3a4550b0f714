#include "dataset/pictures/pack.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>

#include "core/error.h"
#include "dataset/batch_stream.h"
#include "dataset/pictures/encoders.h"
#include "dataset/pictures/picture_reader.h"
#include "dataset/pictures/picture_source.h"
#include "dataset/pictures/resize.h"
#include "dataset/pictures/shard_writer.h"
#include "dataset/worker_threads.h"

namespace mpt {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kAtOnce = 64;  // pictures that are prepared before they are written in order

struct Prepared {
    std::vector<std::uint8_t> bytes;
    std::string extension;
    std::string fault;
};

const char* extension_of(PictureFormat format) {
    return format == PictureFormat::kJpeg ? "jpg" : format == PictureFormat::kPng ? "png" : "webp";
}

// One thread's tools for making members of pictures.
class Preparer {
  public:
    Preparer(const PictureStore& store, const PackOptions& options) : store_(store), options_(options) {}

    void prepare(std::int64_t index, Prepared& result) {
        result.fault.clear();
        try {
            const std::span<const std::uint8_t> file = store_.read(index, file_);
            const PictureHeader header = reader_.open(file);
            const std::int64_t short_side = std::min(header.height, header.width);
            const bool shrinks = options_.resize > 0 && short_side > options_.resize;
            result.extension = extension_of(header.format);
            if (!shrinks) {
                reader_.decode({0, 0, header.height, header.width}, 8, 3, pixels_);  // only to know it can be
                result.bytes.assign(file.begin(), file.end());
                return;
            }
            shrink(header, result);
        } catch (const Error& error) {
            result.fault = store_.name(index) + ": " + error.what();
        }
    }

  private:
    void shrink(const PictureHeader& header, Prepared& result) {
        const std::int64_t short_side = std::min(header.height, header.width);
        const auto resized = [&](std::int64_t side) { return side * options_.resize / short_side; };
        const std::int64_t height = resized(header.height), width = resized(header.width);
        const DecodedPart part = reader_.decode({0, 0, header.height, header.width}, 1, 3, pixels_);
        std::vector<std::uint8_t> stored(static_cast<std::size_t>(height * width * 3));
        resizer_.resize(part.pixels, part.area, height, width, stored.data());
        std::vector<std::uint8_t> upright(stored.size());
        orient({stored.data(), height, width, 3, width * 3}, header.orientation, upright.data());
        const std::int64_t rows = header.transposed() ? width : height;
        const std::int64_t columns = header.transposed() ? height : width;
        result.bytes = encode_jpeg({upright.data(), rows, columns, 3, columns * 3}, options_.quality);
        result.extension = "jpg";
    }

    const PictureStore& store_;
    const PackOptions& options_;
    PictureReader reader_;
    Resizer resizer_;
    ByteBuffer file_;
    Picture pixels_;
};

// Prepares order[begin..end) on all threads.
void prepare_all(std::vector<std::unique_ptr<Preparer>>& preparers, const std::vector<std::uint32_t>& order,
                 std::size_t begin, std::vector<Prepared>& results) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::exception_ptr> errors(preparers.size());
    const auto work = [&](std::size_t worker) {
        try {
            for (std::size_t i = next++; i < results.size(); i = next++)
                preparers[worker]->prepare(order[begin + i], results[i]);
        } catch (...) {
            errors[worker] = std::current_exception();
        }
    };
    run_workers(preparers.size(), work);
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

SourceOptions source_of(const PackOptions& options) {
    SourceOptions source;
    source.type = SourceType::kImageFolder;
    source.path = options.input;
    source.split = options.split;
    source.empty_classes = options.empty_classes;
    source.num_classes = 0;  // as many as there are
    return source;
}

}  // namespace

PackReport pack_split(const PackOptions& options, const std::function<bool()>& stopped) {
    const SourceOptions source = source_of(options);
    if (const std::string missing = missing_image_folder(source); !missing.empty())
        throw Error(ExitCode::kData, fs::absolute(options.input).string() + ": has " + missing);
    OpenedStore opened = open_image_folder(source);
    const PictureStore& store = *opened.store;
    ShardWriter writer(fs::absolute(options.output).lexically_normal().string(),
                       options.split == Split::kTrain ? "train" : "val", store.class_names(),
                       options.shard_bytes);
    const std::vector<std::uint32_t> order =
        epoch_order(store.size(), static_cast<std::uint64_t>(std::max<std::int64_t>(options.shuffle_seed, 0)),
                    0, options.shuffle_seed < 0 ? Order::kInOrder : Order::kShuffled);
    std::vector<std::unique_ptr<Preparer>> preparers;
    for (int i = 0; i < options.num_threads; ++i)
        preparers.push_back(std::make_unique<Preparer>(store, options));
    PackReport report;
    report.notices = std::move(opened.notices);
    std::vector<Prepared> results;
    for (std::size_t begin = 0; begin < order.size(); begin += results.size()) {
        if (stopped()) throw Error(ExitCode::kResource, options.output + ": packing was stopped; remove it");
        results.resize(std::min<std::size_t>(kAtOnce, order.size() - begin));
        prepare_all(preparers, order, begin, results);
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i].fault.empty()) {
                writer.add(results[i].bytes, results[i].extension, store.label(order[begin + i]));
                continue;
            }
            if (options.broken == BrokenFiles::kStop)
                throw Error(ExitCode::kData,
                            results[i].fault + "; remove it, or leave it out with --skip-broken");
            report.notices.push_back(results[i].fault + "; left out");
            ++report.num_broken;
        }
    }
    writer.finish();
    report.num_pictures = static_cast<std::int64_t>(writer.index().pictures.size());
    report.num_shards = static_cast<std::int64_t>(writer.index().shards.size());
    for (const ShardFile& shard : writer.index().shards) report.bytes += shard.bytes;
    return report;
}

namespace {

std::string padded(std::int64_t number, std::int64_t count) {
    const std::string digits = std::to_string(number);
    return std::string(std::to_string(count - 1).size() - digits.size(), '0') + digits;
}

std::vector<std::string> folder_names(const ImageSetInfo& info) {
    std::vector<std::string> names = info.class_names;
    const bool plain = static_cast<std::int64_t>(names.size()) == info.num_classes &&
                       std::is_sorted(names.begin(), names.end()) &&
                       std::adjacent_find(names.begin(), names.end()) == names.end();
    if (plain) return names;
    names.resize(static_cast<std::size_t>(info.num_classes));
    for (std::size_t c = 0; c < names.size(); ++c) {
        const std::string number = padded(static_cast<std::int64_t>(c), info.num_classes);
        std::replace(names[c].begin(), names[c].end(), '/', '_');
        names[c] = names[c].empty() ? number : number + "_" + names[c];
    }
    return names;
}

void write_file(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    const int reason = errno;
    if (file == nullptr || std::fclose(file) != 0 || !written)
        throw Error(ExitCode::kResource, path.string() + ": cannot be written: " + std::strerror(reason));
}

}  // namespace

void export_images(const ImageSource& source, const ExportOptions& options) {
    const ImageGeometry& g = source.geometry();
    const fs::path root = fs::absolute(options.output).lexically_normal() / options.split;
    std::error_code error;
    if (fs::exists(root, error))
        throw Error(ExitCode::kUsage, root.string() + ": is there already; choose another --output");
    const std::vector<std::string> names = folder_names(source.info());
    for (const std::string& name : names) {
        fs::create_directories(root / name, error);
        if (error) throw Error(ExitCode::kResource, (root / name).string() + ": " + error.message());
    }
    ByteBuffer pixels(static_cast<std::size_t>(g.bytes()));
    const PictureView view{pixels.data(), g.height, g.width, g.channels, g.width * g.channels};
    const bool png = options.format == ExportFormat::kPng;
    for (std::int64_t i = 0; i < source.num_samples(); ++i) {
        source.copy_image(i, pixels.data());
        const std::string file = padded(i, source.num_samples()) + (png ? ".png" : ".jpg");
        write_file(root / names[static_cast<std::size_t>(source.label(i))] / file,
                   png ? encode_png(view) : encode_jpeg(view, options.quality));
    }
}

}  // namespace mpt
