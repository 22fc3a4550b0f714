// Image folders as they are found in the world: behaviours H12 to H16, H18 and H23, and their relatives.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "dataset/dataset.h"
#include "dataset/pictures/picture_source.h"
#include "support/dataset_files.h"
#include "support/errors.h"
#include "support/pictures.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

SourceOptions folder_options(const DataFolder& folder, std::int64_t num_classes,
                             Split split = Split::kTrain) {
    SourceOptions options;
    options.type = SourceType::kImageFolder;
    options.path = folder.path();
    options.split = split;
    options.num_classes = num_classes;
    options.geometry = {12, 12, 3};
    return options;
}

PictureBytes flat_jpeg(int value, std::int64_t channels = 3) {
    return encode_jpeg(
        {24, 24, channels,
         PictureBytes(static_cast<std::size_t>(576 * channels), static_cast<std::uint8_t>(value))});
}

void write_class(const DataFolder& folder, const std::string& name, int count, int value) {
    fs::create_directories(folder.file(name));
    for (int i = 0; i < count; ++i)
        folder.write(name + "/p" + std::to_string(i) + ".jpg", flat_jpeg(value + i));
}

PictureBytes image_of(const ImageSource& source, std::int64_t index) {
    PictureBytes image(static_cast<std::size_t>(source.geometry().bytes()));
    source.copy_image(index, image.data());
    return image;
}

bool any_contains(const std::vector<std::string>& lines, const std::string& part) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::vector<int> labels_of(const ImageSource& source) {
    std::vector<int> labels;
    for (std::int64_t i = 0; i < source.num_samples(); ++i) labels.push_back(source.label(i));
    return labels;
}

}  // namespace

TEST_CASE("classes are the folders' names in the order of their bytes, pictures that of their names") {
    const DataFolder folder;
    write_class(folder, "train/b", 2, 100);
    write_class(folder, "train/a", 1, 50);
    write_class(folder, "train/B", 1, 200);
    folder.write("train/a/inner/q.jpg", flat_jpeg(60));
    const OpenedSource opened = open_source(folder_options(folder, 3));
    CHECK(opened.source->info().class_names == std::vector<std::string>{"B", "a", "b"});
    // a/inner/q, B/p0, a/p0, b/p0, b/p1: by name, then by class
    CHECK(labels_of(*opened.source) == std::vector<int>{1, 0, 1, 2, 2});
    CHECK(std::abs(image_of(*opened.source, 0)[0] - 60) <= 1);
    CHECK(std::abs(image_of(*opened.source, 4)[0] - 101) <= 1);
    CHECK(any_contains(opened.notices, "the classes B and b differ by case only"));
    CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(folder_options(folder, 10)); }),
               Catch::Contains("has 3 classes") && Catch::Contains("set model.num_classes: 3"));
}

TEST_CASE("H12: a grey JPEG among colours is three equal channels") {
    const DataFolder folder;
    write_class(folder, "train/a", 2, 30);
    folder.write("train/a/grey.jpg", flat_jpeg(128, 1));
    const auto source = open_source(folder_options(folder, 1)).source;
    CHECK(image_of(*source, 0) == PictureBytes(12 * 12 * 3, 128));
}

TEST_CASE("H13: broken pictures stop the run by name, or are skipped and counted") {
    const DataFolder folder;
    write_class(folder, "train/a", 9, 30);
    write_class(folder, "train/b", 9, 90);
    PictureBytes cut = encode_jpeg(test_picture(60, 60, 3));
    cut.resize(cut.size() / 2);
    folder.write("train/a/cut.jpg", cut);
    folder.write("train/b/random.jpg", std::string("these are not the bytes you are looking for"));
    SourceOptions options = folder_options(folder, 2);
    const auto source = open_source(options).source;
    REQUIRE(source->num_samples() == 20);
    for (const int workers : {0, 2}) {
        StreamOptions stream;
        stream.batching = {4, 1, false};
        stream.order = Order::kInOrder;
        stream.end_epoch = 1;
        stream.workers = workers;
        BatchStream batches(*source, stream);
        const std::string what = error_of(ExitCode::kData, [&] {
            while (batches.next().batch != nullptr) continue;
        });
        CHECK_THAT(what, Catch::Contains("train/a/cut.jpg: cut off") && Catch::Contains("data.broken: skip"));
    }
    options.broken = BrokenFiles::kSkip;
    options.num_threads = 2;
    const OpenedSource skipped = open_source(options);
    CHECK(skipped.source->num_samples() == 18);
    REQUIRE(skipped.notices.size() == 3);
    CHECK_THAT(skipped.notices[0], Catch::Contains("train/a/cut.jpg"));
    CHECK_THAT(skipped.notices[1], Catch::Contains("train/b/random.jpg"));
    CHECK_THAT(skipped.notices[2], Catch::Contains("2 bad files skipped, 18 used per epoch"));
    std::vector<std::int64_t> seen;
    BatchStream batches(*skipped.source, evaluation_stream(5, 1, 2));
    for (NextBatch next = batches.next(); next.batch; next = batches.next())
        seen.insert(seen.end(), next.batch->sample_ids.begin(), next.batch->sample_ids.end());
    CHECK(seen.size() == 18);
    CHECK(std::adjacent_find(seen.begin(), seen.end(), std::greater_equal<>()) == seen.end());
}

TEST_CASE("pictures that are all broken are refused with the first and a remedy") {
    const DataFolder folder;
    for (const char* name : {"train/a/1.jpg", "train/b/2.jpg"}) folder.write(name, std::string("no picture"));
    SourceOptions options = folder_options(folder, 2);
    options.broken = BrokenFiles::kSkip;
    CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(options); }),
               Catch::Contains("2 bad files and no other, the first ") &&
                   Catch::Contains("/a/1.jpg: is no") &&
                   Catch::EndsWith("; replace them (mpt-train data --check names them all)"));
}

TEST_CASE("a classes.txt that says otherwise than the folders is refused, one of another kind is not") {
    const DataFolder folder;
    write_class(folder, "train/cat", 2, 30);
    write_class(folder, "train/dog", 2, 90);
    const SourceOptions options = folder_options(folder, 2);
    for (const char* list : {"dog\ncat\n", "cat\ndog\nemu\n", "cat\n"}) {
        folder.write("classes.txt", std::string(list));
        CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(options); }),
                   Catch::Contains("classes.txt: lists other classes, or another order") &&
                       Catch::Contains("(cat, dog)") && Catch::EndsWith("mend or remove it"));
    }
    for (const char* list : {"cat\ndog\n", "1 cat\n2 dog\n"}) {
        folder.write("classes.txt", std::string(list));
        CHECK(open_source(options).source->num_samples() == 4);
    }
}

TEST_CASE("skipping broken pictures does not lose a class unsaid") {
    const DataFolder folder;
    write_class(folder, "train/a", 3, 30);
    for (const char* name : {"train/b/x.jpg", "train/b/y.jpg"}) folder.write(name, std::string("no picture"));
    SourceOptions options = folder_options(folder, 2);
    options.broken = BrokenFiles::kSkip;
    CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(options); }),
               Catch::Contains("every picture of these classes is broken: b; replace them") &&
                   Catch::Contains("data.empty_classes: allow"));
    options.empty_classes = EmptyClasses::kAllow;
    const OpenedSource opened = open_source(options);
    CHECK(opened.source->num_samples() == 3);
    CHECK(any_contains(opened.notices, "every picture of these classes is broken: b"));
}

TEST_CASE("a picture that vanishes after all were decoded is told to be put back") {
    const DataFolder folder;
    write_class(folder, "train/a", 2, 30);
    SourceOptions options = folder_options(folder, 1);
    options.broken = BrokenFiles::kSkip;
    const auto source = open_source(options).source;
    folder.remove("train/a/p1.jpg");
    CHECK_THAT(error_of(ExitCode::kData, [&] { image_of(*source, 1); }),
               Catch::Contains("train/a/p1.jpg: ") && Catch::Contains("put it back") &&
                   !Catch::Contains("data.broken"));
}

TEST_CASE("H14: all orientation tags give the same sample") {
    const DataFolder folder;
    fs::create_directories(folder.file("train/a"));
    const TestPicture upright = smooth_picture(60, 84, 3);
    for (int tag = 1; tag <= 8; ++tag) {
        const bool transposed = tag >= 5;
        TestPicture stored = smooth_picture(transposed ? 84 : 60, transposed ? 60 : 84, 3);
        PictureHeader header;
        header.height = stored.height;
        header.width = stored.width;
        header.orientation = tag;
        for (std::int64_t y = 0; y < 60; ++y) {
            for (std::int64_t x = 0; x < 84; ++x) {
                const Box at = stored_box(header, {y, x, 1, 1});
                for (std::int64_t c = 0; c < 3; ++c)
                    stored.at(at.top, at.left, c) = const_cast<TestPicture&>(upright).at(y, x, c);
            }
        }
        folder.write("train/a/" + std::to_string(tag) + ".png", encode_png(stored, {.orientation = tag}));
    }
    SourceOptions options = folder_options(folder, 1);
    options.geometry = {21, 30, 3};
    options.resize = 33;
    const auto source = open_source(options).source;
    for (std::int64_t i = 1; i < 8; ++i)
        CHECK(largest_difference(image_of(*source, i), image_of(*source, 0)) <= 2);
}

TEST_CASE("H15: an empty class is refused, or keeps the others' numbers") {
    const DataFolder folder;
    write_class(folder, "train/a", 5, 10);
    fs::create_directories(folder.file("train/b"));
    write_class(folder, "train/c", 5, 20);
    SourceOptions options = folder_options(folder, 3);
    CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(options); }),
               Catch::Contains("train/b: the class has no pictures") &&
                   Catch::Contains("data.empty_classes: allow"));
    options.empty_classes = EmptyClasses::kAllow;
    const OpenedSource opened = open_source(options);
    CHECK(opened.source->num_classes() == 3);
    CHECK(opened.source->label(9) == 2);
    CHECK(any_contains(opened.notices, "train/b: the class has no pictures"));
}

TEST_CASE("H16: hidden folders and files are ignored and reported") {
    const DataFolder folder;
    write_class(folder, "train/.cache_dir", 1, 1);
    write_class(folder, "train/a", 1, 2);
    write_class(folder, "train/b", 1, 3);
    folder.write("train/a/.DS_Store", std::string("x"));
    folder.write("train/README.txt", std::string("x"));
    const OpenedSource opened = open_source(folder_options(folder, 2));
    CHECK(opened.source->info().class_names == std::vector<std::string>{"a", "b"});
    CHECK(opened.source->num_samples() == 2);
    CHECK(any_contains(opened.notices, ".cache_dir: hidden folder, ignored"));
    CHECK(any_contains(opened.notices, "1 hidden files"));
    CHECK(any_contains(opened.notices, "README.txt"));
}

TEST_CASE("H18 and relatives: nothing there is exit 3 with the path") {
    const DataFolder folder;
    const auto reason = [&](Split split) {
        return error_of(ExitCode::kData, [&] { open_source(folder_options(folder, 2, split)); });
    };
    CHECK_THAT(reason(Split::kTrain), Catch::Contains("has no folder train"));
    fs::create_directories(folder.file("train"));
    CHECK_THAT(reason(Split::kTrain), Catch::Contains("has no class folders"));
    write_class(folder, "train/a", 1, 1);
    write_class(folder, "train/b", 1, 1);
    CHECK_THAT(reason(Split::kTest), Catch::Contains("has no folder val or test"));
    fs::create_directories(folder.file("val/a"));
    CHECK_THAT(reason(Split::kTest), Catch::Contains("val: has 0 pictures"));
    fs::create_symlink(folder.file("train"), folder.file("train/a/ring"));
    CHECK_THAT(reason(Split::kTrain), Catch::Contains("link to a folder above"));
}

TEST_CASE("what cannot be looked at is not missing, and an empty class is named before their count") {
    const DataFolder folder;
    write_class(folder, "val/a", 1, 1);
    fs::create_symlink("train", folder.file("train"));  // a ring, as unreadable to root as to anybody
    SourceOptions options = folder_options(folder, 2);
    options.if_missing = MissingData::kSynthetic;
    CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(options); }),
               Catch::Contains("/train: cannot be read: "));
    fs::remove(folder.file("train"));
    for (const char* name : {"train/a", "train/b"}) write_class(folder, name, 1, 1);
    fs::create_directories(folder.file("train/extra"));
    CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(options); }),
               Catch::Contains("train/extra: the class has no pictures"));
}

TEST_CASE("evaluation maps classes by name") {
    const DataFolder folder;
    for (const char* name : {"train/a", "train/b", "train/c", "test/c"}) write_class(folder, name, 2, 10);
    const OpenedSource test = open_source(folder_options(folder, 3, Split::kTest));
    CHECK(labels_of(*test.source) == std::vector<int>{2, 2});
    CHECK(any_contains(test.notices, "test: no pictures of 2 of the 3 classes: a, b"));
    SourceOptions trained = folder_options(folder, 3, Split::kTest);
    trained.class_names = {"c", "b", "a"};
    CHECK(labels_of(*open_source(trained).source) == std::vector<int>{0, 0});
    write_class(folder, "test/d", 1, 1);
    CHECK_THAT(error_of(ExitCode::kData, [&] { open_source(folder_options(folder, 3, Split::kTest)); }),
               Catch::Contains("test/d: the training data has no class of this name"));
}

TEST_CASE("H23: names with spaces and letters of other scripts") {
    const DataFolder folder("my data/Ö 图片");
    write_class(folder, "train/ein Ä", 1, 10);
    write_class(folder, "train/zwei 图", 1, 20);
    const auto source = open_source(folder_options(folder, 2)).source;
    CHECK(source->info().class_names == std::vector<std::string>{"ein Ä", "zwei 图"});
    CHECK(std::abs(image_of(*source, 1)[0] - 20) <= 1);
    folder.write("train/ein Ä/ü.jpg", std::string("no picture"));
    const auto broken = open_source(folder_options(folder, 2)).source;
    CHECK_THAT(error_of(ExitCode::kData, [&] { image_of(*broken, 2); }),
               Catch::Contains("my data/Ö 图片/train/ein Ä/ü.jpg"));
}

TEST_CASE("a limit is spread over the classes, a name says nothing about the format") {
    const DataFolder folder;
    for (const char* name : {"a", "b", "c", "d"})
        for (int i = 0; i < 5; ++i)
            folder.write("train/" + std::string(name) + "/" + name + std::to_string(i) + ".png",
                         flat_jpeg(i));
    SourceOptions options = folder_options(folder, 4);
    options.limit = 4;
    CHECK(labels_of(*open_source(options).source) == std::vector<int>{0, 1, 2, 3});
    options.limit = 8;  // of equally many
    const std::vector<int> two_each = {0, 0, 1, 1, 2, 2, 3, 3};
    CHECK(labels_of(*open_source(options).source) == two_each);
    folder.write("train/a/a0.png", PictureBytes{});
    options.limit = 4;
    const auto source = open_source(options).source;
    CHECK_THAT(error_of(ExitCode::kData, [&] { image_of(*source, 0); }), Catch::Contains("a0.png: is empty"));
}

TEST_CASE("a limit gives every class its share where classes have the same file names") {
    const DataFolder folder;
    write_class(folder, "train/a", 8, 10);
    write_class(folder, "train/b", 8, 50);
    write_class(folder, "train/c", 4, 90);
    write_class(folder, "train/d", 8, 130);
    SourceOptions options = folder_options(folder, 4);
    options.limit = 14;
    const OpenedSource opened = open_source(options);
    const std::vector<int> labels = labels_of(*opened.source);
    CHECK(std::ranges::count(labels, 0) == 4);
    CHECK(std::ranges::count(labels, 1) == 4);
    CHECK(std::ranges::count(labels, 2) == 2);
    CHECK(std::ranges::count(labels, 3) == 4);
    // In the order they have without a limit: by name, then by class.
    CHECK(labels[0] == 0);
    CHECK(labels[1] == 1);
}
