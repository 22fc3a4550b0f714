// Work over whole picture sets ends soon after it is asked to, and leaves all of its files or none.
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>

#include "dataset/pictures/pack.h"
#include "dataset/pictures/picture_source.h"
#include "support/dataset_files.h"
#include "support/errors.h"
#include "support/pictures.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

void write_pictures(const DataFolder& folder, const std::string& split, int count) {
    const PictureBytes jpeg = encode_jpeg(smooth_picture(20, 20, 3));
    for (int i = 0; i < count; ++i)
        folder.write(split + (i % 2 == 0 ? "/cat/" : "/dog/") + std::to_string(i + 100) + ".jpg", jpeg);
}

SourceOptions folder_options(const DataFolder& folder) {
    SourceOptions options;
    options.type = SourceType::kImageFolder;
    options.path = folder.path();
    options.num_classes = 2;
    options.geometry = {8, 8, 3};
    options.num_threads = 2;
    return options;
}

// Says stop from the `calls`-th time on.
AskStop after(std::atomic<int>& asked, int calls) {
    return [&asked, calls] { return ++asked >= calls; };
}

PackOptions pack_options(const DataFolder& folder, const fs::path& output) {
    PackOptions options;
    options.input = folder.path();
    options.output = output.string();
    options.shard_bytes = 8000;
    options.num_threads = 2;
    return options;
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    if (fs::exists(folder))
        for (const auto& entry : fs::directory_iterator(folder))
            names.push_back(entry.path().filename().string());
    return names;
}

}  // namespace

TEST_CASE("H35: decoding all pictures stops when asked") {
    const DataFolder folder;
    write_pictures(folder, "train", 40);
    SourceOptions options = folder_options(folder);
    const OpenedSource opened = open_source(options);
    std::atomic<int> asked = 0;
    const auto& store = dynamic_cast<const PictureSource&>(*opened.source).store();
    CHECK_THROWS_AS(find_broken(store, 2, after(asked, 5)), Stopped);
    CHECK(asked <= 6);  // the other thread may have asked once more
    asked = 0;
    CHECK_THROWS_AS(channel_statistics(*opened.source, after(asked, 5)), Stopped);
    CHECK(asked == 5);
    asked = 0;
    options.broken = BrokenFiles::kSkip;
    options.stop = after(asked, 5);
    CHECK_THROWS_AS(open_source(options), Stopped);
    CHECK(find_broken(store, 2, after(asked, 1000)).empty());
}

TEST_CASE("H35: reading archives through stops when asked") {
    const DataFolder folder;
    write_pictures(folder, "train", 40);
    const ScratchFolder out;
    pack_folder(pack_options(folder, out / "s"), {});
    SourceOptions options = folder_options(folder);
    options.type = SourceType::kShards;
    options.path = (out / "s").string();
    std::atomic<int> asked = 0;
    const OpenedSource opened = open_source(options);
    CHECK_THROWS_AS(
        dynamic_cast<const PictureSource&>(*opened.source).store().checksum_faults(after(asked, 2)), Stopped);
    fs::remove(out / "s" / "train.index");
    asked = 0;
    options.stop = after(asked, 5);
    CHECK_THROWS_AS(open_source(options), Stopped);
}

TEST_CASE("H35: a packing that is stopped, or fails, leaves nothing; the next begins anew") {
    const DataFolder folder;
    write_pictures(folder, "train", 200);
    write_pictures(folder, "val", 200);
    const ScratchFolder out;
    const PackOptions options = pack_options(folder, out / "s");
    for (const int calls : {1, 100, 300, 390}) {  // in val and in train, which has shards on disk by then
        std::atomic<int> asked = 0;
        CHECK_THROWS_AS(pack_folder(options, after(asked, calls)), Stopped);
        CHECK_FALSE(fs::exists(out / "s"));
    }
    folder.write("train/dog/999.jpg", std::string("x"));
    CHECK_THAT(error_of(ExitCode::kData, [&] { pack_folder(options, {}); }),
               Catch::Contains("--skip-broken"));
    CHECK_FALSE(fs::exists(out / "s"));
    PackOptions skipping = options;
    skipping.broken = BrokenFiles::kSkip;
    CHECK(pack_folder(skipping, {})[0].num_pictures == 200);
    for (const std::string& name : names_in(out / "s")) CHECK_FALSE(fs::path(name).extension() == ".partial");
}

TEST_CASE("faults of val are found before train is packed") {
    const DataFolder folder;
    write_pictures(folder, "train", 200);
    write_pictures(folder, "val", 10);
    const ScratchFolder out;
    const PackOptions options = pack_options(folder, out / "s");
    std::atomic<int> asked = 0;
    folder.write("val/horse/1.jpg", encode_jpeg(smooth_picture(20, 20, 3)));
    CHECK_THAT(error_of(ExitCode::kData, [&] { pack_folder(options, after(asked, 1000)); }),
               Catch::Contains("val/horse"));
    CHECK(asked == 0);
    fs::remove_all(folder.file("val/horse"));
    fs::create_directories(out / "s");
    write_file(out / "s" / "val.index", "x");
    CHECK_THAT(error_of(ExitCode::kUsage, [&] { pack_folder(options, after(asked, 1000)); }),
               Catch::Contains("val.index: is there already"));
    CHECK(asked == 0);
    CHECK(names_in(out / "s") == std::vector<std::string>{"val.index"});
    fs::rename(out / "s" / "val.index", out / "s" / "val-000000.tar.partial");
    CHECK_THAT(error_of(ExitCode::kUsage, [&] { pack_folder(options, {}); }),
               Catch::Contains("val-000000.tar.partial") && Catch::Contains("remove it"));
    fs::remove_all(out / "s");
    folder.write("val/cat/999.jpg", std::string("x"));
    CHECK_THAT(error_of(ExitCode::kData, [&] { pack_folder(options, after(asked, 1000)); }),
               Catch::Contains("val/cat/999.jpg"));
    CHECK(asked <= 11);  // once a picture of val; those of train were not begun
}

TEST_CASE("pack names its own flags and what folder it wants") {
    const DataFolder folder;
    write_pictures(folder, "train", 4);
    fs::create_directories(folder.file("train/empty"));
    const ScratchFolder out;
    PackOptions options = pack_options(folder, out / "s");
    const std::string empty = error_of(ExitCode::kData, [&] { pack_folder(options, {}); });
    CHECK_THAT(empty,
               Catch::Contains("train/empty: the class has no pictures") && Catch::Contains("--allow-empty"));
    CHECK(empty.find("data.") == std::string::npos);
    options.empty_classes = EmptyClasses::kAllow;
    CHECK(pack_folder(options, {})[0].num_pictures == 4);
    options.input = folder.file("train");
    CHECK_THAT(error_of(ExitCode::kData, [&] { pack_folder(options, {}); }),
               Catch::Contains("has no folder train") && Catch::Contains("/train/<class>/"));
}

TEST_CASE("an export of images is there as a whole or not at all") {
    const DataFolder folder;
    write_pictures(folder, "train", 20);
    const OpenedSource opened = open_source(folder_options(folder));
    const ExportSplit splits[] = {{"train", opened.source.get()}, {"val", opened.source.get()}};
    const ScratchFolder out;
    const ExportOptions options{(out / "e").string(), ExportFormat::kPng, 95};
    for (const int calls : {1, 10, 30}) {  // the last in the second split
        std::atomic<int> asked = 0;
        CHECK_THROWS_AS(export_images(splits, options, after(asked, calls)), Stopped);
        CHECK(names_in(out / "e").empty());
    }
    fs::create_directories(out / "e" / "val");
    std::atomic<int> asked = 0;
    CHECK_THAT(error_of(ExitCode::kUsage, [&] { export_images(splits, options, after(asked, 1000)); }),
               Catch::Contains("e/val: is there already"));
    CHECK(asked == 0);
    CHECK(names_in(out / "e") == std::vector<std::string>{"val"});
    fs::remove(out / "e" / "val");
    export_images(splits, options, {});
    CHECK(names_in(out / "e").size() == 2);
    CHECK(names_in(out / "e" / "train" / "cat").size() == 10);
}

TEST_CASE("without file handles nothing is a broken picture") {
    const DataFolder folder;
    write_pictures(folder, "train", 4);
    SourceOptions options = folder_options(folder);
    const OpenedSource opened = open_source(options);
    const auto& store = dynamic_cast<const PictureSource&>(*opened.source).store();
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    std::vector<std::string> messages;
    const auto note = [&](auto call) {
        try {
            call();
            messages.push_back("no error");
        } catch (const Error& error) {
            messages.push_back(std::to_string(static_cast<int>(error.code())) + " " + error.what());
        }
    };
    options.broken = BrokenFiles::kSkip;
    PictureBytes image(8 * 8 * 3);
    note([&] { find_broken(store, 1); });
    note([&] { open_source(options); });
    note([&] { opened.source->copy_image(0, image.data()); });
    options.type = SourceType::kShards;
    note([&] { open_source(options); });
    setrlimit(RLIMIT_NOFILE, &before);
    REQUIRE(messages.size() == 4);
    for (const std::string& message : messages) {
        CHECK_THAT(message, Catch::StartsWith("6 ") && Catch::Contains("ulimit -n"));
        CHECK(message.find("remove it") == std::string::npos);
    }
}

TEST_CASE("pipes among pictures are reported, not opened") {
    const DataFolder folder;
    write_pictures(folder, "train", 4);
    REQUIRE(mkfifo(folder.file("train/cat/pipe.jpg").c_str(), 0600) == 0);
    const OpenedSource opened = open_source(folder_options(folder));
    CHECK(opened.source->num_samples() == 4);
    REQUIRE(opened.notices.size() == 1);
    CHECK_THAT(opened.notices[0], Catch::Contains("train: 1 FIFOs, sockets or devices in class folders"));
}
