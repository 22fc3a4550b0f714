#include "dataset/pictures/pack.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/printable.h"
#include "dataset/batch_stream.h"
#include "dataset/pictures/encoders.h"
#include "dataset/pictures/made_folders.h"
#include "dataset/pictures/picture_reader.h"
#include "dataset/pictures/picture_source.h"
#include "dataset/pictures/resize.h"
#include "dataset/pictures/shard_writer.h"
#include "dataset/pictures/shared_work.h"

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
            if (error.code() != ExitCode::kData) throw Error(error.code(), result.fault);
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
                 std::size_t begin, std::vector<Prepared>& results, const AskStop& stop) {
    std::atomic<std::size_t> next = 0;
    share_work(static_cast<int>(preparers.size()), [&](int worker) {
        for (std::size_t i = next++; i < results.size(); i = next++) {
            leave_if(stop, "packing was stopped; nothing of it is left");
            preparers[static_cast<std::size_t>(worker)]->prepare(order[begin + i], results[i]);
        }
    });
}

SourceOptions source_of(const PackOptions& options, Split split) {
    SourceOptions source;
    source.type = SourceType::kImageFolder;
    source.path = options.input;
    source.split = split;
    source.empty_classes = EmptyClasses::kAllow;  // refused here, with pack's own remedy
    source.num_classes = 0;                       // as many as there are
    return source;
}

void refuse_empty_classes(const PictureStore& store, const std::string& root) {
    std::vector<bool> used(store.class_names().size());
    for (std::int64_t i = 0; i < store.size(); ++i) used[static_cast<std::size_t>(store.label(i))] = true;
    for (std::size_t c = 0; c < used.size(); ++c)
        if (!used[c])
            throw Error(ExitCode::kData, root + "/train/" + store.class_names()[c] +
                                             ": the class has no pictures; remove the folder, or pack with "
                                             "--allow-empty");
}

// One split from its folder to the names of its shards.
class SplitPacking {
  public:
    SplitPacking(const PackOptions& options, Split split)
        : options_(options),
          opened_(open_image_folder(source_of(options, split))),
          writer_(fs::absolute(options.output).lexically_normal().string(),
                  split == Split::kTrain ? "train" : "val", opened_.store->class_names(),
                  options.shard_bytes) {
        report_.split = split == Split::kTrain ? "train" : "val";
        report_.notices = std::move(opened_.notices);
        if (split == Split::kTrain && options.empty_classes == EmptyClasses::kError)
            refuse_empty_classes(*opened_.store, opened_.origin);
    }

    void write(const AskStop& stop) {
        const PictureStore& store = *opened_.store;
        const std::uint64_t seed =
            static_cast<std::uint64_t>(std::max<std::int64_t>(options_.shuffle_seed, 0));
        const std::vector<std::uint32_t> order = epoch_order(
            store.size(), seed, 0, options_.shuffle_seed < 0 ? Order::kInOrder : Order::kShuffled);
        std::vector<std::unique_ptr<Preparer>> preparers;
        for (int i = 0; i < options_.num_threads; ++i)
            preparers.push_back(std::make_unique<Preparer>(store, options_));
        std::vector<Prepared> results;
        for (std::size_t begin = 0; begin < order.size(); begin += results.size()) {
            results.resize(std::min<std::size_t>(kAtOnce, order.size() - begin));
            prepare_all(preparers, order, begin, results, stop);
            for (std::size_t i = 0; i < results.size(); ++i) add(results[i], store.label(order[begin + i]));
        }
    }

    PackReport finish() {
        writer_.finish();
        report_.num_pictures = static_cast<std::int64_t>(writer_.index().pictures.size());
        report_.num_shards = static_cast<std::int64_t>(writer_.index().shards.size());
        for (const ShardFile& shard : writer_.index().shards) report_.bytes += shard.bytes;
        return std::move(report_);
    }

  private:
    void add(const Prepared& picture, std::int32_t label) {
        if (picture.fault.empty()) {
            writer_.add(picture.bytes, picture.extension, label);
            return;
        }
        if (options_.broken == BrokenFiles::kStop)
            throw Error(ExitCode::kData, picture.fault + "; remove it, or leave it out with --skip-broken");
        report_.notices.push_back(printable(picture.fault) + "; left out");
        ++report_.num_broken;
    }

    const PackOptions& options_;
    OpenedStore opened_;
    ShardWriter writer_;
    PackReport report_;
};

}  // namespace

std::vector<PackReport> pack_folder(const PackOptions& options, const AskStop& stop) {
    const std::string input = fs::absolute(options.input).lexically_normal().string();
    if (const std::string missing = missing_image_folder(source_of(options, Split::kTrain)); !missing.empty())
        throw Error(ExitCode::kData, input + ": has " + missing + "; pictures are expected in " + input +
                                         "/train/<class>/: give the folder that train lies in");
    SplitPacking train(options, Split::kTrain);
    std::optional<SplitPacking> val;
    if (missing_image_folder(source_of(options, Split::kTest)).empty()) val.emplace(options, Split::kTest);
    if (val) val->write(stop);
    train.write(stop);
    std::vector<PackReport> reports = {train.finish()};
    if (val) reports.push_back(val->finish());
    return reports;
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

// One split's folder, called FOLDER.partial until finish(), removed without it.
class FolderExport {
  public:
    FolderExport(const ExportSplit& split, const ExportOptions& options)
        : source_(*split.source),
          options_(options),
          root_(fs::absolute(options.output).lexically_normal() / split.folder),
          partial_(root_.string() + ".partial") {
        std::error_code error;
        if (fs::exists(root_, error))
            throw Error(ExitCode::kUsage,
                        root_.string() + ": is there already; choose another --output or remove it");
        if (fs::exists(partial_, error))
            throw Error(ExitCode::kUsage,
                        partial_.string() +
                            ": an export that was killed has left it, or one is under way; remove it");
        fs::create_directories(partial_, error);
        if (error) throw Error(ExitCode::kResource, partial_.string() + ": " + error.message());
    }
    ~FolderExport() {
        std::error_code ignored;
        fs::remove_all(partial_, ignored);
        if (undo_) fs::remove_all(root_, ignored);
    }
    FolderExport(const FolderExport&) = delete;
    FolderExport& operator=(const FolderExport&) = delete;

    void write(const AskStop& stop) const;
    void give_name() {
        std::error_code error;
        fs::rename(partial_, root_, error);
        if (error) throw Error(ExitCode::kResource, root_.string() + ": " + error.message());
        undo_ = true;
    }
    void keep() { undo_ = false; }

  private:
    const ImageSource& source_;
    const ExportOptions& options_;
    fs::path root_, partial_;
    bool undo_ = false;
};

void FolderExport::write(const AskStop& stop) const {
    const std::vector<std::string> names = folder_names(source_.info());
    for (const std::string& name : names) {
        std::error_code error;
        fs::create_directories(partial_ / name, error);
        if (error) throw Error(ExitCode::kResource, (partial_ / name).string() + ": " + error.message());
    }
    const ImageGeometry& g = source_.geometry();
    ByteBuffer pixels(static_cast<std::size_t>(g.bytes()));
    const PictureView view{pixels.data(), g.height, g.width, g.channels, g.width * g.channels};
    const bool png = options_.format == ExportFormat::kPng;
    for (std::int64_t i = 0; i < source_.num_samples(); ++i) {
        leave_if(stop, "the export was stopped; nothing of it is left");
        source_.copy_image(i, pixels.data());
        const std::string file = padded(i, source_.num_samples()) + (png ? ".png" : ".jpg");
        write_file(partial_ / names[static_cast<std::size_t>(source_.label(i))] / file,
                   png ? encode_png(view) : encode_jpeg(view, options_.quality));
    }
}

}  // namespace

void export_images(std::span<const ExportSplit> splits, const ExportOptions& options, const AskStop& stop) {
    const MadeFolders made(options.output);
    std::vector<std::unique_ptr<FolderExport>> folders;
    for (const ExportSplit& split : splits) folders.push_back(std::make_unique<FolderExport>(split, options));
    for (const auto& folder : folders) folder->write(stop);
    for (const auto& folder : folders) folder->give_name();
    for (const auto& folder : folders) folder->keep();
}

}  // namespace mpt
