// The built command on picture folders as they are found in the world: exit codes, the one line on stderr,
// names in other scripts in any locale.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/pictures.h"
#include "support/process.h"
#include "support/small_run.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

void write_bytes(const fs::path& path, const PictureBytes& bytes) {
    fs::create_directories(path.parent_path());
    write_file(path, std::string(bytes.begin(), bytes.end()));
}

PictureBytes picture_of(int number, std::int64_t channels = 3) {
    return encode_jpeg(smooth_picture(24 + number, 40 - number, channels));
}

void write_classes(const fs::path& data, const std::vector<std::string>& names, int count) {
    for (const char* split : {"train", "val"})
        for (const std::string& name : names)
            for (int i = 0; i < count; ++i)
                write_bytes(data / split / name / ("p" + std::to_string(i) + ".jpg"), picture_of(i));
}

struct Run {
    const ScratchFolder& folder;
    fs::path data;
    int classes = 2;
    std::string output = "run";
    std::vector<std::string> more = {};  // KEY=VALUE
    std::vector<std::string> environment = {};

    Finished start() const {
        write_file(folder / "c.yaml",
                   "model: {type: resnet, depth: 20, num_classes: " + std::to_string(classes) +
                       "}\n"
                       "data: {type: imagefolder, path: \"" +
                       data.string() +
                       "\", image_size: 16, drop_last: false}\n"
                       "train: {epochs: 1, batch_size: 5, log_every: 1}\n"
                       "threads: 1\n");
        std::vector<std::string> words = {"--config", (folder / "c.yaml").string(), "--output",
                                          (folder / output).string()};
        if (!more.empty()) words.push_back("--set");
        words.insert(words.end(), more.begin(), more.end());
        return Process(folder.path(), words, {.environment = environment}).wait();
    }
};

void check_fails(const Finished& finished, const std::vector<std::string>& parts) {
    CHECK(finished.exit_code == 3);
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    for (const std::string& part : parts) CHECK_THAT(finished.err, Catch::Contains(part));
}

}  // namespace

TEST_CASE("H12: a run over colours and one grey JPEG is exit 0") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"a", "b"}, 5);
    write_bytes(folder / "data/train/a/grey.jpg", picture_of(3, 1));
    CHECK(Run{folder, folder / "data"}.start().exit_code == 0);
}

TEST_CASE("H13: 20 pictures, two of them broken: exit 3 with the path, or skipped and counted") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"a", "b"}, 9);
    PictureBytes cut = picture_of(1);
    cut.resize(cut.size() / 2);
    write_bytes(folder / "data/train/a/cut.jpg", cut);
    write_bytes(folder / "data/train/b/random.jpg", PictureBytes(300, 0x5a));
    check_fails(Run{folder, folder / "data"}.start(), {"data/train/", "data.broken: skip"});
    const Finished skipped = Run{folder, folder / "data", 2, "run2", {"data.broken=skip"}}.start();
    CHECK(skipped.exit_code == 0);
    const std::string log = file_text(folder / "run2/log.txt");
    for (const char* name : {"cut.jpg", "random.jpg"}) {
        const std::size_t first = log.find(name);
        REQUIRE(first != std::string::npos);
        CHECK(log.find(name, first + 1) == std::string::npos);
    }
    CHECK_THAT(log, Catch::Contains("2 bad files skipped, 18 used per epoch"));
    CHECK(rows_of(folder / "run2", "train").size() == 4);  // 18 in batches of 5
}

TEST_CASE("H15, H16: an empty class ends the run by name, or keeps its number; hidden folders are told") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"a", "c"}, 5);
    fs::create_directories(folder / "data/train/b");
    write_bytes(folder / "data/train/.cache_dir/x.jpg", picture_of(0));
    check_fails(Run{folder, folder / "data", 3}.start(), {"train/b: the class has no pictures"});
    const Finished allowed = Run{folder, folder / "data", 3, "run2", {"data.empty_classes=allow"}}.start();
    CHECK(allowed.exit_code == 0);
    CHECK_THAT(file_text(folder / "run2/log.txt"),
               Catch::Contains("train/b: the class has no pictures") &&
                   Catch::Contains(".cache_dir: hidden folder, ignored") && Catch::Contains("3 classes"));
}

TEST_CASE("H18: seven pictures and a batch of eight") {
    const ScratchFolder folder;
    write_classes(folder / "data", {"a"}, 7);
    Run run{folder, folder / "data", 1, "run", {"train.batch_size=8", "data.drop_last=true"}};
    check_fails(run.start(), {"has 7 samples", "batch_size 8"});
    run.more = {"train.batch_size=8"};
    run.output = "run2";
    CHECK(run.start().exit_code == 0);
    CHECK(rows_of(folder / "run2", "train").size() == 1);
    for (const auto& file : fs::directory_iterator(folder / "data/train/a")) fs::remove(file);
    run.output = "run3";
    check_fails(run.start(), {(folder / "data/train/a").string()});
}

TEST_CASE("H23: pictures and output under names of other scripts, the same in every locale") {
    const ScratchFolder folder;
    const fs::path data = folder / "my data/Ö 图片";
    write_classes(data, {"ein Ä", "zwei 图"}, 5);
    std::vector<std::vector<std::string>> losses;
    for (const char* locale : {"C", "C.UTF-8"}) {
        const std::string output = std::string("Läufe 图/") + locale;
        const Finished finished = Run{folder, data, 2, output, {}, {std::string("LC_ALL=") + locale}}.start();
        CHECK(finished.exit_code == 0);
        losses.push_back(column(rows_of(folder / output, "train"), "loss"));
        CHECK_THAT(file_text(folder / output / "log.txt"), Catch::Contains("my data/Ö 图片"));
        CHECK_THAT(file_text(checkpoint_at(folder / output, 2) / "state.json"),
                   Catch::Contains("ein Ä") && Catch::Contains("zwei 图"));
    }
    CHECK(losses[0].size() == 2);
    CHECK(losses[0] == losses[1]);
    write_file(data / "train/ein Ä/ü.jpg", "no picture");
    for (const char* locale : {"C", "C.UTF-8"})
        check_fails(Run{folder, data, 2, "x", {}, {std::string("LC_ALL=") + locale}}.start(),
                    {"my data/Ö 图片/train/ein Ä/ü.jpg: is no JPEG, PNG or WebP picture"});
}

TEST_CASE("a loader that training waits for is told, with its rate and the rate needed") {
    const ScratchFolder folder;
    for (const char* split : {"train", "val"})
        for (const char* name : {"a", "b"})
            for (int i = 0; i < 5; ++i)
                write_bytes(folder / "data" / split / name / (std::to_string(i) + ".jpg"),
                            encode_jpeg(smooth_picture(1200, 1200, 3), {.progressive = true}));
    const Finished finished = Run{
        folder,
        folder / "data",
        2,
        "run",
        {"data.image_size=8", "data.workers=0", "train.epochs=5",
         "train.warmup_steps=1"}}.start();
    CHECK(finished.exit_code == 0);
    CHECK_THAT(file_text(folder / "run/log.txt"),
               Catch::Contains("the loader was the bottleneck: training waited") &&
                   Catch::Contains("were needed; raise data.workers (0)"));
}
