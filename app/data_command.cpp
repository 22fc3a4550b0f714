#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "command_line.h"
#include "commands.h"
#include "core/clock.h"
#include "core/error.h"
#include "dataset/dataset.h"
#include "dataset/pictures/encoders.h"
#include "dataset/pictures/picture_source.h"
#include "dataset/pictures/shard_index.h"
#include "stop_signals.h"
#include "train/run_setup.h"

namespace mpt::app {
namespace {

namespace fs = std::filesystem;

struct DataWords {
    ConfigOptions config;
    bool check = false, bench = false;
    int show = 0;
    std::string seconds = "20";
    std::string out = ".";
};

OpenedSource open_split(const RunConfig& config, Split split) {
    SourceOptions options = source_options(config, split);
    options.stop = stop_by_signals();
    OpenedSource opened = open_source(options);
    if (!opened.warning.empty()) fmt::print("{}\n", opened.warning);
    for (const std::string& notice : opened.notices) fmt::print("{}\n", notice);
    const ImageSetInfo& info = opened.source->info();
    fmt::print("{}: {} images as {}, {} classes, {}\n", split == Split::kTrain ? "train" : "test",
               info.num_samples, to_string(info.geometry), info.num_classes, info.origin);
    return opened;
}

struct Faults {
    std::int64_t pictures = 0, shards = 0;
};

// Decodes every picture of a split; what is not a picture was checked when it was opened.
void check_split(const RunConfig& config, Split split, Faults& all) {
    RunConfig whole = config;
    whole.data.broken = OnBroken::kStop;  // every broken one is found and named below
    whole.data.train_limit.reset();
    whole.data.eval_limit.reset();
    const OpenedSource opened = open_split(whole, split);
    Faults own;
    if (const auto* pictures = dynamic_cast<const PictureSource*>(opened.source.get())) {
        for (const BrokenPicture& broken :
             find_broken(pictures->store(), num_threads(config), stop_by_signals())) {
            fmt::print("{}\n", broken.message);
            ++own.pictures;
        }
        for (const std::string& fault : pictures->store().checksum_faults(stop_by_signals())) {
            fmt::print("{}\n", fault);
            ++own.shards;
        }
    }
    fmt::print("{}: {} faults\n", split == Split::kTrain ? "train" : "test", own.pictures + own.shards);
    all.pictures += own.pictures;
    all.shards += own.shards;
}

void refuse(const Faults& faults) {
    std::string text;
    if (faults.pictures > 0)
        text = fmt::format("{} broken files; remove them, or train with data.broken: skip", faults.pictures);
    if (faults.shards > 0)
        text += fmt::format("{}{} shards with another checksum than the index's; copy them again",
                            text.empty() ? "" : "; ", faults.shards);
    if (!text.empty()) throw Error(ExitCode::kData, text);
}

// Whole or, with the reason, not at all.
void save_sheet(const std::string& path, const std::vector<std::uint8_t>& png) {
    std::FILE* file = std::fopen((path + ".partial").c_str(), "wb");
    bool written = file != nullptr && std::fwrite(png.data(), 1, png.size(), file) == png.size();
    int reason = errno;
    if (file != nullptr && std::fclose(file) != 0 && written) {
        reason = errno;
        written = false;
    }
    if (written && std::rename((path + ".partial").c_str(), path.c_str()) == 0) return;
    if (written) reason = errno;
    std::remove((path + ".partial").c_str());
    throw Error(ExitCode::kResource, path + ": cannot be written: " + std::strerror(reason));
}

// Augmented samples of the first epoch side by side, a thin line between them.
void show_samples(const RunConfig& config, int count, const std::string& folder) {
    const OpenedSource opened = open_split(config, Split::kTrain);
    const ImageSource& source = *opened.source;
    const ImageGeometry& g = source.geometry();
    if (g.channels != 1 && g.channels != 3)
        throw Error(ExitCode::kUsage, "--show: images of " + to_string(g) + " cannot be shown");
    const std::int64_t num = std::min<std::int64_t>(count, source.num_samples());
    std::int64_t columns = 1;
    while (columns * columns < num) ++columns;
    const std::int64_t rows = (num + columns - 1) / columns;
    constexpr std::int64_t kLine = 2;
    Picture sheet;
    sheet.reshape(rows * (g.height + kLine), columns * (g.width + kLine), g.channels);
    std::fill_n(sheet.row(0), sheet.height() * sheet.stride(), std::uint8_t{255});
    StreamOptions options = training_stream(config, {});
    options.batching.drop_last = false;
    BatchStream stream(source, options);
    const Batch* batch = nullptr;
    for (std::int64_t i = 0, at = 0; i < num; ++i, ++at) {
        if (batch == nullptr || at == batch->count) {
            leave_if(stop_by_signals());
            batch = stream.next().batch;
            at = 0;
        }
        const std::uint8_t* image = batch->images.data() + at * g.bytes();
        for (std::int64_t y = 0; y < g.height; ++y)
            std::copy_n(image + y * g.width * g.channels, g.width * g.channels,
                        sheet.row(i / columns * (g.height + kLine) + y) +
                            i % columns * (g.width + kLine) * g.channels);
    }
    const std::vector<std::uint8_t> png = encode_png(sheet.view());
    fs::create_directories(folder);
    const std::string path = (fs::absolute(folder) / "samples.png").lexically_normal().string();
    save_sheet(path, png);
    fmt::print("{} samples of the first epoch: {}\n", num, path);
}

double resident_mib() {
    std::ifstream file("/proc/self/statm");
    std::int64_t all_pages = 0, resident_pages = 0;
    file >> all_pages >> resident_pages;
    return static_cast<double>(resident_pages * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Runs the training stream alone, epoch after epoch, for some seconds.
void measure(const RunConfig& config, double seconds, const AskStop& stop) {
    const OpenedSource opened = open_split(config, Split::kTrain);
    StreamOptions options = training_stream(config, {});
    options.end_epoch = -1;
    options.workers = std::max(options.workers, 1);
    BatchStream stream(*opened.source, options);
    stream.next();  // threads and caches
    const double begin = now_seconds();
    std::int64_t images = 0, batches = 0, epoch = 0, first = 0;
    double at = begin, first_mib = 0;
    while (at - begin < seconds && !stop()) {
        const Batch& batch = *stream.next().batch;
        images += batch.count;
        ++batches;
        // Once every buffer has been in use.
        if (first == 0 && batch.epoch > 0 && batches > 4 * options.prefetch) {
            first = batch.epoch;
            first_mib = resident_mib();
        }
        epoch = batch.epoch;
        at = now_seconds();
    }
    fmt::print("loader: {:.1f} images/s with {} workers, {} images in {:.1f} s\n",
               static_cast<double>(images) / (at - begin), options.workers, images, at - begin);
    if (epoch > first && first > 0)
        fmt::print("memory: {:.1f} MiB resident after epoch {}, {:.1f} MiB after epoch {}\n", first_mib,
                   first, resident_mib(), epoch);
    leave_if(stop, "stopped before the measurement's end");
}

}  // namespace

int data_command(const std::vector<std::string>& arguments) {
    CLI::App app("Looks at a config's image data without training.", "mpt-train data");
    DataWords words;
    words.config.add_to(app);
    app.add_flag("--check", words.check,
                 "decode every file and name those that are broken; exit 3 if any is");
    app.add_option("--show", words.show, "save N training samples, as augmented, to samples.png")
        ->type_name("N")
        ->check(CLI::Range(1, 10000));
    app.add_option("--out", words.out, "folder of samples.png; default: the working directory")
        ->type_name("DIR");
    app.add_flag("--bench", words.bench, "measure the images/s of the training loader alone");
    app.add_option("--seconds", words.seconds, "how long to measure; default 20")->type_name("S");
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    const double seconds = real_of("--seconds", words.seconds, 0.1, 3600);
    const ReadConfig read = words.config.read();
    const AskStop stop = stop_by_signals();
    if (!words.check && words.show == 0 && !words.bench) {
        for (const Split split : {Split::kTrain, Split::kTest}) open_split(read.config, split);
        return 0;
    }
    Faults faults;
    if (words.check)
        for (const Split split : {Split::kTrain, Split::kTest}) check_split(read.config, split, faults);
    refuse(faults);
    if (words.show > 0) show_samples(read.config, words.show, words.out);
    if (words.bench) measure(read.config, seconds, stop);
    return 0;
}

}  // namespace mpt::app
