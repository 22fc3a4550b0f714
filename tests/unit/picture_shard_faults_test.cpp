// Shard sets that are incomplete, made by other tools, or not made of files: told by name, never read as
// whole.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "dataset/pictures/pack.h"
#include "dataset/pictures/picture_source.h"
#include "dataset/pictures/tar_index.h"
#include "support/dataset_files.h"
#include "support/errors.h"
#include "support/pictures.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string tar_text(const Members& members) {
    std::string text;
    for (const auto& [name, contents] : members)
        text += tar_header(name, contents.size()) + contents +
                std::string((512 - contents.size() % 512) % 512, '\0');
    return text + std::string(1024, '\0');
}

std::string jpeg_text() {
    const PictureBytes bytes = encode_jpeg(smooth_picture(20, 20, 3));
    return {bytes.begin(), bytes.end()};
}

SourceOptions options_of(const fs::path& folder, std::int64_t num_classes = 2) {
    SourceOptions options;
    options.type = SourceType::kShards;
    options.path = folder.string();
    options.num_classes = num_classes;
    options.geometry = {8, 8, 3};
    return options;
}

std::string reason(const fs::path& folder) {
    return error_of(ExitCode::kData, [&] { open_source(options_of(folder)); });
}

// Some shards with their index.
void pack_some(const fs::path& out) {
    const DataFolder folder;
    const PictureBytes jpeg = encode_jpeg(smooth_picture(20, 20, 3));
    for (int i = 0; i < 30; ++i)
        folder.write((i % 2 == 0 ? "train/cat/" : "train/dog/") + std::to_string(i + 10) + ".jpg", jpeg);
    PackOptions options;
    options.input = folder.path();
    options.output = out.string();
    options.shard_bytes = 8000;
    REQUIRE(pack_folder(options, {})[0].num_shards >= 3);
}

}  // namespace

TEST_CASE("shards of an unfinished packing are refused, with their index and without") {
    const ScratchFolder out;
    pack_some(out / "s");
    for (const char* left : {"train-000007.tar.partial", "train.index.partial"}) {
        write_file(out / "s" / left, "x");
        CHECK_THAT(reason(out / "s"), Catch::Contains(left) && Catch::Contains("incomplete"));
        fs::remove(out / "s" / left);
    }
    fs::rename(out / "s" / "train.index", out / "s" / "train.index.partial");
    CHECK_THAT(reason(out / "s"), Catch::Contains("incomplete"));
    // Nothing but leftovers is no missing set that synthetic images could stand in for.
    const ScratchFolder only;
    write_file(only / "train-000000.tar.partial", "x");
    CHECK_THAT(error_of(ExitCode::kData,
                        [&] {
                            SourceOptions options = options_of(only.path());
                            options.if_missing = MissingData::kSynthetic;
                            open_source(options);
                        }),
               Catch::Contains("incomplete"));
}

TEST_CASE("archives cut between members, or empty, are refused") {
    const ScratchFolder folder;
    const std::string whole =
        tar_text({{"1.jpg", jpeg_text()}, {"1.cls", "0"}, {"2.jpg", jpeg_text()}, {"2.cls", "1"}});
    const fs::path path = folder / "train-0.tar";
    write_file(path, whole);
    CHECK(open_source(options_of(folder.path())).source->num_samples() == 2);
    const std::size_t pair = (whole.size() - 1024) / 2;
    for (const std::size_t length : {std::size_t{0}, pair, 2 * pair, 2 * pair + 512}) {
        CAPTURE(length);
        write_file(path, whole.substr(0, length));
        CHECK_THAT(reason(folder.path()), Catch::Contains("train-0.tar") && Catch::Contains("cut off"));
    }
    write_file(path, whole.substr(0, 2 * pair) + std::string(512, '\0') + std::string(512, 'x'));
    CHECK_THAT(reason(folder.path()), Catch::Contains("cut off"));
}

TEST_CASE("a shard that the index does not name is not ignored") {
    const ScratchFolder out;
    pack_some(out / "s");
    fs::copy_file(out / "s" / "train-000000.tar", out / "s" / "train-000999.tar");
    CHECK_THAT(reason(out / "s"),
               Catch::Contains("train-000999.tar") && Catch::Contains("train.index does not name it"));
}

TEST_CASE("a classes.txt that contradicts the index is refused with the first difference") {
    const ScratchFolder folder;
    pack_some(folder / "s");
    const std::string file = (folder / "s/classes.txt").string();
    const std::string index = (folder / "s/train.index").string();
    write_file(file, "dog\ncat\n");
    CHECK_THAT(reason(folder / "s"),
               Catch::Contains(file + ": class 0 is dog, in " + index + " it is cat; put back"));
    write_file(file, "cat\ndog\nemu\n");
    CHECK_THAT(reason(folder / "s"), Catch::Contains(file + ": class 2 is emu, in " + index + " it is none"));
    write_file(file, "cat\r\ndog\r\n");
    CHECK(open_source(options_of(folder / "s")).source->num_samples() == 30);
    fs::remove(file);
    CHECK(open_source(options_of(folder / "s")).source->num_samples() == 30);
}

TEST_CASE("pipes and folders in the place of shards, index and class names are refused at once") {
    const ScratchFolder folder;
    const std::string tar = tar_text({{"1.jpg", jpeg_text()}, {"1.cls", "0"}});
    write_file(folder / "train-0.tar", tar);
    for (const char* name : {"train-1.tar", "train.index", "classes.txt"}) {
        REQUIRE(mkfifo((folder / name).c_str(), 0600) == 0);
        CHECK_THAT(reason(folder.path()), Catch::Contains(std::string(name) + ": is no regular file"));
        fs::remove(folder / name);
        fs::create_directory(folder / name);
        CHECK_THAT(reason(folder.path()), Catch::Contains(std::string(name) + ": is a folder"));
        fs::remove(folder / name);
    }
    CHECK(open_source(options_of(folder.path())).source->num_samples() == 1);
    // With an index that names it.
    const ScratchFolder out;
    pack_some(out / "s");
    fs::remove(out / "s" / "train-000000.tar");
    REQUIRE(mkfifo((out / "s" / "train-000000.tar").c_str(), 0600) == 0);
    CHECK_THAT(reason(out / "s"), Catch::Contains("train-000000.tar"));
}

TEST_CASE("shards as WebDataset writes them: further fields and macOS's files are not pictures") {
    const ScratchFolder folder;
    write_file(folder / "train-0.tar", tar_text({{"./._1.jpg", "Mac OS X"},
                                                 {"./1.jpg", jpeg_text()},
                                                 {"./1.seg.png", "another field"},
                                                 {"./1.json", "{}"},
                                                 {"./1.cls", "1 \n"},
                                                 {"README", "no field"},
                                                 {"./2.JPG", jpeg_text()},
                                                 {"./2.cls", "0"}}));
    write_file(folder / "classes.txt", "cat\r\ndog\r\n\r\n");
    const OpenedSource opened = open_source(options_of(folder.path()));
    REQUIRE(opened.source->num_samples() == 2);
    CHECK(opened.source->label(0) == 1);
    CHECK(opened.source->info().class_names == std::vector<std::string>{"cat", "dog"});
    write_file(folder / "classes.txt", "cat\ncat\n");
    CHECK_THAT(reason(folder.path()), Catch::Contains("classes.txt: the class 'cat' is there twice"));
}

TEST_CASE(
    "classes said twice, or with something behind the number, are refused; a packed archive is named so") {
    const ScratchFolder folder;
    const fs::path path = folder / "train-0.tar";
    write_file(path, tar_text({{"1.jpg", jpeg_text()}, {"1.cls", "0"}, {"1.cls", "1"}}));
    CHECK_THAT(reason(folder.path()), Catch::Contains("1.cls: a second class of one key"));
    write_file(path, tar_text({{"1.jpg", jpeg_text()}, {"1.cls", "1" + std::string(30, ' ') + "x"}}));
    CHECK_THAT(reason(folder.path()), Catch::Contains("is no number of a class"));
    write_file(path, tar_text({{"1.jpg", jpeg_text()}, {"1.cls", "1" + std::string(600, ' ')}}));
    CHECK_THAT(reason(folder.path()), Catch::Contains("601 bytes"));
    const std::string tar = tar_text({{"1.jpg", jpeg_text()}, {"1.cls", "0"}});
    const Bytes packed = gzip(Bytes(tar.begin(), tar.end()));
    write_file(path, std::string(packed.begin(), packed.end()) + std::string(600, 'x'));
    CHECK_THAT(reason(folder.path()), Catch::Contains("train-0.tar: is packed with gzip"));
}
