#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "command_line.h"
#include "commands.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/printable.h"
#include "dataset/dataset.h"
#include "dataset/pictures/encoders.h"
#include "dataset/pictures/picture_source.h"
#include "dataset/pictures/shard_index.h"
#include "stop_signals.h"
#include "text_data.h"
#include "train/run_setup.h"

namespace mpt::app {
namespace {

namespace fs = std::filesystem;

struct DataWords {
    ConfigOptions config;
    bool check = false, bench = false;
    int show = 0;
    std::string seconds = "20";
    std::string out;
};

OpenedSource open_split(const RunConfig& config, Split split, std::optional<MissingData> missing = {}) {
    SourceOptions options = source_options(config, split);
    options.if_missing = missing.value_or(options.if_missing);
    options.stop = stop_by_signals();
    OpenedSource opened = open_source(options);
    if (!opened.warning.empty()) print_line(opened.warning);
    for (const std::string& notice : opened.notices) print_line(notice);
    const ImageSetInfo& info = opened.source->info();
    fmt::print("{}: {} images as {}, {} classes, {}\n", split == Split::kTrain ? "train" : "test",
               info.num_samples, to_string(info.geometry), info.num_classes, printable(info.origin));
    return opened;
}

std::string class_name(const ImageSource& source, std::int64_t label) {
    const std::vector<std::string>& names = source.info().class_names;
    return names.empty() ? std::to_string(label) : printable(names[static_cast<std::size_t>(label)]);
}

// "a 120, b 80"; of many classes the first, and how few and how many samples a class has.
std::string print_class_counts(const ImageSource& source) {
    constexpr std::size_t kMost = 20;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(source.num_classes()));
    for (std::int64_t i = 0; i < source.num_samples(); ++i)
        ++counts[static_cast<std::size_t>(source.label(i))];
    std::string text;
    for (std::size_t c = 0; c < std::min(counts.size(), kMost); ++c)
        text += fmt::format("{}{} {}", c > 0 ? ", " : "", class_name(source, static_cast<std::int64_t>(c)),
                            counts[c]);
    if (counts.size() <= kMost) return text;
    const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
    return fmt::format("{}, and {} more; {} to {} a class", text, counts.size() - kMost, *fewest, *most);
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
    // Made-up images say nothing about data that is not there.
    const bool stands_in = config.data.if_missing == IfMissing::kSynthetic;
    const OpenedSource opened =
        open_split(whole, split, stands_in ? MissingData::kRefused : MissingData::kError);
    fmt::print("{}: {}\n", split == Split::kTrain ? "train" : "test", print_class_counts(*opened.source));
    Faults own;
    if (const auto* pictures = dynamic_cast<const PictureSource*>(opened.source.get())) {
        for (const BrokenPicture& broken :
             find_broken(pictures->store(), num_threads(config), stop_by_signals())) {
            print_line(broken.message);
            ++own.pictures;
        }
        for (const std::string& fault : pictures->store().checksum_faults(stop_by_signals())) {
            print_line(fault);
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

// Of two classes where samples are mixed.
std::string classes_of(const ImageSource& source, const Batch& batch, std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    const std::string name = class_name(source, batch.labels[i]);
    if (batch.label_shares.empty() || batch.second_labels[i] == batch.labels[i] || batch.label_shares[i] >= 1)
        return name;
    return name + "+" + class_name(source, batch.second_labels[i]);
}

// Augmented samples of the first epoch side by side, a thin line between them; their classes go to stdout.
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
    if (options.augment.random_erasing > 0)
        set_erase_colour(options, normalization_of(config, source, stop_by_signals()).mean);
    std::vector<std::string> classes(static_cast<std::size_t>(rows));
    BatchStream stream(source, options);
    const Batch* batch = nullptr;
    for (std::int64_t i = 0, at = 0; i < num; ++i, ++at) {
        if (batch == nullptr || at == batch->count) {
            leave_if(stop_by_signals());
            batch = stream.next().batch;
            at = 0;
        }
        std::string& names = classes[static_cast<std::size_t>(i / columns)];
        names += (names.empty() ? "" : ", ") + classes_of(source, *batch, at);
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
    print_line(fmt::format("{} samples of the first epoch: {}", num, path));
    for (std::size_t row = 0; row < classes.size(); ++row) fmt::print("row {}: {}\n", row + 1, classes[row]);
}

double resident_mib() {
    std::ifstream file("/proc/self/statm");
    std::int64_t all_pages = 0, resident_pages = 0;
    file >> all_pages >> resident_pages;
    return static_cast<double>(resident_pages * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Runs the training stream alone, epoch after epoch, for some seconds.
void measure(const RunConfig& config, double seconds) {
    const OpenedSource opened = open_split(config, Split::kTrain);
    catch_stop_signals("before the measurement's end");  // a first batch may take long
    StreamOptions options = training_stream(config, {});
    options.end_epoch = -1;
    options.batching.drop_last = false;  // a batch need not be full to be measured
    options.workers = std::max(options.workers, 1);
    BatchStream stream(*opened.source, options);
    stream.next();  // threads and caches
    const double begin = now_seconds();
    std::int64_t images = 0, batches = 0, epoch = 0, first = 0;
    double at = begin, first_mib = 0;
    while (at - begin < seconds) {
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
}

void declare(CLI::App& app, DataWords& words) {
    words.config.add_to(app);
    app.add_flag(
        "--check", words.check,
        "count the classes, decode every picture and name those that are broken; of text, name every "
        "file, line and token at fault; exit 3 if any is, or files are not there; limits are left aside");
    app.add_option(
           "--show", words.show,
           "save N training samples, as augmented, to samples.png and list their classes; of text, print "
           "token ids and text")
        ->type_name("N")
        ->check(CLI::Range(1, 10000));
    app.add_option("--out", words.out, "folder of samples.png; default: the working directory")
        ->type_name("DIR");
    app.add_flag("--bench", words.bench, "measure the images/s or tokens/s of the training loader alone");
    app.add_option("--seconds", words.seconds, "how long to measure; default 20")->type_name("S");
}

void refuse_idle_words(const CLI::App& app, bool is_text) {
    const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
    if (given("--out") && is_text)
        throw Error(ExitCode::kUsage, "--out: is for pictures; samples of text are printed, leave it out");
    if (given("--out") && !given("--show"))
        throw Error(ExitCode::kUsage, "--out: is the folder of what --show N saves; give both or none");
    if (given("--seconds") && !given("--bench"))
        throw Error(ExitCode::kUsage, "--seconds: is how long --bench measures; give both or none");
}

void look_at_pictures(const RunConfig& config, const DataWords& words, double seconds) {
    if (!words.check && words.show == 0 && !words.bench) {
        for (const Split split : {Split::kTrain, Split::kTest}) open_split(config, split);
        return;
    }
    Faults faults;
    if (words.check)
        for (const Split split : {Split::kTrain, Split::kTest}) check_split(config, split, faults);
    refuse(faults);
    if (words.show > 0) show_samples(config, words.show, words.out.empty() ? "." : words.out);
    if (words.bench) measure(config, seconds);
}

}  // namespace

int data_command(const std::vector<std::string>& arguments) {
    CLI::App app("Looks at a config's data without training.", "mpt-train data");
    DataWords words;
    declare(app, words);
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    const double seconds = real_of("--seconds", words.seconds, 0.1, 3600);
    const ReadConfig read = words.config.read();
    refuse_idle_words(app, read.config.model.is_text());
    for (const std::string& warning : read.warnings) print_line("warning: " + warning);
    if (words.check)
        for (const auto& [key, limit] : {std::pair("train_limit", read.config.data.train_limit),
                                         std::pair("eval_limit", read.config.data.eval_limit)})
            if (limit) fmt::print("data.{} {} is left aside: all of the files is checked\n", key, *limit);
    if (read.config.model.is_text())
        look_at_text(read.config, {words.check, words.bench, words.show, seconds});
    else
        look_at_pictures(read.config, words, seconds);
    return 0;
}

}  // namespace mpt::app
