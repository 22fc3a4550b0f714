// mpt-train data and eval on pictures, and what is said of names that would steer a terminal.
#include <algorithm>
#include <catch2/catch.hpp>

#include "dataset/pictures/picture_reader.h"
#include "support/pictures.h"
#include "support/process.h"
#include "support/small_run.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

void write_picture(const fs::path& path, int brightness) {
    fs::create_directories(path.parent_path());
    const PictureBytes bytes =
        test::encode_png(TestPicture{12, 12, 3, PictureBytes(432, static_cast<std::uint8_t>(brightness))});
    write_file(path, std::string(bytes.begin(), bytes.end()));
}

void write_classes(const fs::path& data, const std::vector<std::string>& names, int count) {
    for (const char* split : {"train", "val"})
        for (std::size_t c = 0; c < names.size(); ++c)
            for (int i = 0; i < count; ++i)
                write_picture(data / split / names[c] / ("p" + std::to_string(i) + ".png"),
                              60 + 100 * static_cast<int>(c % 2));
}

Finished command(const ScratchFolder& folder, std::vector<std::string> words,
                 const std::vector<std::string>& more = {}, int classes = 2) {
    write_file(folder / "c.yaml", "model: {type: resnet, depth: 20, num_classes: " + std::to_string(classes) +
                                      "}\n"
                                      "data: {type: imagefolder, path: data, image_size: 12, workers: 0, "
                                      "drop_last: false}\n"
                                      "train: {epochs: 2, batch_size: 4, log_every: 1}\n"
                                      "threads: 1\n");
    words.insert(words.end(), {"--config", (folder / "c.yaml").string()});
    if (!more.empty()) words.push_back("--set");
    words.insert(words.end(), more.begin(), more.end());
    return Process(folder.path(), words).wait();
}

// Nothing that steers a terminal, and one line on stderr.
void check_clean(const Finished& finished) {
    for (const std::string& text : {finished.out, finished.err})
        CHECK(std::all_of(text.begin(), text.end(),
                          [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; }));
}

}  // namespace

TEST_CASE("data --check counts the classes, and fails on data that is not there") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"cat", "dog"}, 3);
    write_picture(folder / "data/train/dog/more.png", 1);
    const Finished good = command(folder, {"data", "--check"});
    CHECK(good.exit_code == 0);
    CHECK_THAT(good.out, Catch::Contains("train: cat 3, dog 4\n") && Catch::Contains("test: cat 3, dog 3\n"));
    const Finished gone =
        command(folder, {"data", "--check"}, {"data.path=nowhere", "data.if_missing=synthetic"});
    CHECK(gone.exit_code == 3);
    CHECK_THAT(gone.err,
               Catch::Contains("nowhere: no such folder") && !Catch::Contains("or set data.if_missing") &&
                   Catch::Contains("; training would run on synthetic images (data.if_missing: synthetic)"));
    CHECK_THAT(command(folder, {"data", "--check"}, {"data.path=nowhere"}).err,
               Catch::Contains("or set data.if_missing: synthetic"));
    const Finished limited = command(folder, {"data", "--check"}, {"data.train_limit=2"});
    CHECK_THAT(limited.out, Catch::Contains("data.train_limit 2 is left aside") &&
                                !Catch::Contains("eval_limit") && Catch::Contains("train: cat 3, dog 4\n"));
    std::vector<std::string> many;
    for (int i = 10; i < 33; ++i) many.push_back("c" + std::to_string(i));
    fs::remove_all(folder / "data");
    write_classes(folder / "data", many, 1);
    write_picture(folder / "data/train/c32/more.png", 1);
    const Finished shortened = command(folder, {"data", "--check"}, {}, 23);
    CHECK_THAT(shortened.out,
               Catch::Contains("c29 1, and 3 more; 1 to 2 a class") && !Catch::Contains("c30"));
}

TEST_CASE("data --show lists the classes in reading order and erases with training's colour") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"cat", "dog"}, 3);
    const std::vector<std::string> settings = {"data.shuffle=false", "data.augment.horizontal_flip=false",
                                               "data.augment.crop_padding=0",
                                               "data.augment.random_erasing=1"};
    const Finished shown =
        command(folder, {"data", "--show", "6", "--out", folder.path().string()}, settings);
    REQUIRE(shown.exit_code == 0);
    // By file name, then by class.
    CHECK_THAT(shown.out, Catch::Contains("row 1: cat, dog, cat\nrow 2: dog, cat, dog\n"));
    // Pixels are 60 or 160, their mean is 110; the line between pictures is white.
    const std::string file = file_text(folder / "samples.png");
    const TestPicture sheet = decode_whole(PictureBytes(file.begin(), file.end()));
    std::vector<int> seen(sheet.pixels.begin(), sheet.pixels.end());
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    CHECK(seen == std::vector<int>{60, 110, 160, 255});
}

TEST_CASE("data --bench measures with fewer samples than a batch") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"cat", "dog"}, 3);
    const Finished measured = command(folder, {"data", "--bench", "--seconds", "0.2"},
                                      {"data.drop_last=true", "train.batch_size=64"});
    CHECK(measured.exit_code == 0);
    CHECK_THAT(measured.out, Catch::Contains("images/s"));
}

TEST_CASE("names with control characters are written out wherever they are told") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"cat", "dog"}, 3);
    fs::create_directories(folder / "data/train/.hid\x1b[31mden\nnow");
    write_file(folder / "data/train/dog/bad\x1b[2J\nname.png", "no picture");
    const Finished stopped = command(folder, {"--output", (folder / "run").string()},
                                     {"data.augment.normalize=none"});  // met in training
    CHECK(stopped.exit_code == 3);
    CHECK(std::count(stopped.err.begin(), stopped.err.end(), '\n') == 1);
    CHECK_THAT(stopped.err, Catch::Contains("bad\\x1b[2J\\nname.png: is no JPEG"));
    check_clean(stopped);
    const Finished skipped = command(folder, {"--output", (folder / "run2").string()}, {"data.broken=skip"});
    CHECK(skipped.exit_code == 0);
    check_clean(skipped);
    for (const char* run : {"run", "run2"}) {
        const std::string log = file_text(folder / run / "log.txt");
        CHECK(log.find('\x1b') == std::string::npos);
        CHECK_THAT(log, Catch::Contains("/.hid\\x1b[31mden\\nnow: hidden folder, ignored"));
    }
    const Finished checked = command(folder, {"data", "--check"});
    check_clean(checked);
    CHECK_THAT(checked.out, Catch::Contains("bad\\x1b[2J\\nname.png: is no JPEG"));
}

TEST_CASE("control characters in names that the user gives are written out in every message") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"cat", "dog"}, 3);
    const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& part) {
        const Finished finished = Process(folder.path(), words).wait();
        CAPTURE(words, finished.err);
        CHECK(finished.exit_code == code);
        CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
        CHECK_THAT(finished.err, Catch::Contains(part));
        check_clean(finished);
    };
    refused({"eval", "--checkpoint", "no\nsuch"}, 5, "/no\\nsuch: there is no such checkpoint");
    refused({"eval", "--checkpoint", "no\x1b[2Jsuch"}, 5, "/no\\x1b[2Jsuch: there is no such checkpoint");
    refused({"--config", "no\nsuch"}, 2, "no\\nsuch: no such config");
    refused({"--no\nsuch"}, 2, "--no\\nsuch");
    refused({"report", "no\nsuch"}, 3, "no\\nsuch");
    const std::string odd = (folder / "a\x1b[31m\nb").string();
    const Finished shown = command(folder, {"data", "--show", "2", "--out", odd});
    CHECK(shown.exit_code == 0);
    CHECK_THAT(shown.out, Catch::Contains("a\\x1b[31m\\nb/samples.png\n"));
    check_clean(shown);
    const Finished trained = command(folder, {"--output", odd});  // no config holds such a path
    CHECK(trained.exit_code == 2);
    CHECK(std::count(trained.err.begin(), trained.err.end(), '\n') == 1);
    CHECK_THAT(trained.err, Catch::Contains("a\\x1b[31m\\nb: not a text file"));
    check_clean(trained);
}

TEST_CASE("class names that no checkpoint could hold are refused at the start") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"cat", "caf\xE9"}, 3);
    const Finished refused = command(folder, {"--output", (folder / "run").string()});
    CHECK(refused.exit_code == 3);
    CHECK_THAT(refused.err, Catch::Contains("the name of class caf\\xe9 is not UTF-8"));
    CHECK(!fs::exists(folder / "run/metrics.jsonl"));
}

TEST_CASE("eval of the command takes a folder with validation pictures alone, and says what is absent") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"cat", "dog"}, 3);
    REQUIRE(command(folder, {"--output", (folder / "run").string()}).exit_code == 0);
    write_picture(folder / "other/val/dog/x.png", 160);
    const Finished evaluated = Process(folder.path(), {"eval", "--checkpoint", (folder / "run").string(),
                                                       "--set", "data.path=" + (folder / "other").string()})
                                   .wait();
    CHECK(evaluated.exit_code == 0);
    CHECK_THAT(evaluated.out, Catch::Contains("1 samples") || Catch::Contains("top1"));
    CHECK_THAT(evaluated.err,
               Catch::Contains("warning: ") && Catch::Contains("no pictures of 1 of the 2 classes: cat"));
}
