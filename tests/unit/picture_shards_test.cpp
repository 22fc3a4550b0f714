// Tar shards: what is packed is what is read, with the index and without it; damage is told.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "dataset/pictures/pack.h"
#include "dataset/pictures/picture_source.h"
#include "dataset/pictures/shard_index.h"
#include "dataset/pictures/tar_index.h"
#include "support/dataset_files.h"
#include "support/errors.h"
#include "support/pictures.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

void write_pictures(const DataFolder& folder, const std::string& split, int count) {
    for (int i = 0; i < count; ++i) {
        const TestPicture picture = test_picture(30 + i, 40 - i, 3);
        const std::string name = split + (i % 3 == 0 ? "/cat/" : "/dog/") + std::to_string(i + 100);
        folder.write(name + (i % 2 == 0 ? ".jpg" : ".png"),
                     i % 2 == 0 ? encode_jpeg(picture) : encode_png(picture));
    }
}

SourceOptions options_of(const std::string& path, SourceType type, Split split = Split::kTrain) {
    SourceOptions options;
    options.type = type;
    options.path = path;
    options.split = split;
    options.num_classes = 2;
    options.geometry = {16, 16, 3};
    return options;
}

PackOptions pack_options(const DataFolder& folder, const fs::path& output) {
    PackOptions options;
    options.input = folder.path();
    options.output = output.string();
    options.shard_bytes = 8000;
    options.num_threads = 2;
    return options;
}

void check_same(const ImageSource& a, const ImageSource& b) {
    REQUIRE(a.num_samples() == b.num_samples());
    CHECK(a.info().class_names == b.info().class_names);
    PictureBytes image_a(static_cast<std::size_t>(a.geometry().bytes())), image_b = image_a;
    for (std::int64_t i = 0; i < a.num_samples(); ++i) {
        CHECK(a.label(i) == b.label(i));
        a.copy_image(i, image_a.data());
        b.copy_image(i, image_b.data());
        CHECK(image_a == image_b);
    }
}

TarBytes tar_of(const std::string& text) {
    return {text.size(), [&text](std::uint64_t offset, std::span<std::uint8_t> out) {
                if (offset > text.size() || text.size() - offset < out.size()) return false;
                std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
                return true;
            }};
}

std::vector<TarMember> members_of(const std::string& text) {
    std::vector<TarMember> members;
    each_member(tar_of(text), [&](const TarMember& member) { members.push_back(member); });
    return members;
}

}  // namespace

TEST_CASE("shards hold the folder's pictures in its order") {
    const DataFolder folder;
    write_pictures(folder, "train", 20);
    write_pictures(folder, "test", 7);
    const ScratchFolder out;
    const std::vector<PackReport> reports = pack_folder(pack_options(folder, out / "s"), {});
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].num_pictures == 20);
    CHECK(reports[0].num_shards >= 3);
    CHECK(reports[1].num_pictures == 7);
    for (const Split split : {Split::kTrain, Split::kTest}) {
        const auto original = open_source(options_of(folder.path(), SourceType::kImageFolder, split));
        const auto packed = open_source(options_of((out / "s").string(), SourceType::kShards, split));
        CHECK(packed.notices.empty());
        check_same(*original.source, *packed.source);
    }
    // The archives alone say the same.
    fs::remove(out / "s" / "train.index");
    const auto original = open_source(options_of(folder.path(), SourceType::kImageFolder));
    const auto scanned = open_source(options_of((out / "s").string(), SourceType::kShards));
    REQUIRE(scanned.notices.size() == 1);
    check_same(*original.source, *scanned.source);
    // Never over what is there.
    CHECK_THAT(error_of(ExitCode::kUsage, [&] { pack_folder(pack_options(folder, out / "s"), {}); }),
               Catch::Contains("is there already"));
}

TEST_CASE("packing resizes upright pictures, shuffles, and treats broken ones by policy") {
    const DataFolder folder;
    write_pictures(folder, "train", 9);
    folder.write("train/cat/turned.jpg", encode_jpeg(smooth_picture(60, 90, 3), {.orientation = 6}));
    folder.write("train/dog/broken.jpg", std::string("x"));
    const ScratchFolder out;
    PackOptions options = pack_options(folder, out / "a");
    CHECK_THAT(error_of(ExitCode::kData, [&] { pack_folder(options, {}); }),
               Catch::Contains("broken.jpg") && Catch::Contains("--skip-broken"));
    options.output = (out / "b").string();
    options.broken = BrokenFiles::kSkip;
    options.resize = 20;
    options.shuffle_seed = 3;
    const PackReport report = pack_folder(options, {})[0];
    CHECK(report.num_pictures == 10);
    CHECK(report.num_broken == 1);
    OpenedStore opened = open_shards(options_of(options.output, SourceType::kShards));
    PictureReader reader;
    ByteBuffer buffer;
    int turned = 0;
    for (std::int64_t i = 0; i < opened.store->size(); ++i) {
        const PictureHeader header = reader.open(opened.store->read(i, buffer));
        CHECK(header.orientation == 1);
        CHECK(std::min(header.height, header.width) == 20);
        turned += header.height == 30 ? 1 : 0;  // 60x90 turned is 90x60
    }
    CHECK(turned == 1);
}

TEST_CASE("damaged shards and indices are told by file and place") {
    const DataFolder folder;
    write_pictures(folder, "train", 6);
    const ScratchFolder out;
    pack_folder(pack_options(folder, out / "s"), {});
    const fs::path index = out / "s" / "train.index", shard = out / "s" / "train-000000.tar";
    const auto reason = [&] {
        return error_of(ExitCode::kData,
                        [&] { open_source(options_of((out / "s").string(), SourceType::kShards)); });
    };
    const std::string good_index = file_text(index), good_shard = file_text(shard);
    CHECK(checksum_of_file(shard.string()) == parse_shard_index(good_index, "x").shards[0].checksum);
    std::string bad = good_index;
    bad[bad.find(" 0\n", 60) + 1] = '1';
    write_file(index, bad);
    CHECK_THAT(reason(), Catch::Contains("train.index:") && Catch::Contains("checksum"));
    for (std::size_t length = 0; length < good_index.size(); length += 7) {
        write_file(index, good_index.substr(0, length));
        CHECK_THAT(reason(), Catch::Contains("train.index:"));
    }
    write_file(index, good_index);
    write_file(shard, good_shard.substr(0, good_shard.size() - 512));
    CHECK_THAT(reason(), Catch::Contains("train-000000.tar: has"));
    fs::remove(shard);
    CHECK_THAT(reason(), Catch::Contains("train-000000.tar"));
    fs::remove(index);
    write_file(shard, good_shard.substr(0, 700));
    CHECK_THAT(reason(), Catch::Contains("train-000000.tar: damaged tar archive"));
    bad = good_shard;
    bad[3] ^= 1;
    write_file(shard, bad);
    CHECK_THAT(reason(), Catch::Contains("header's checksum is wrong"));
}

TEST_CASE("archives by GNU tar, in its formats, have the same members") {
    const ScratchFolder folder;
    const std::string long_name = std::string(60, 'd') + "/" + std::string(70, 'n');  // ustar splits it
    fs::create_directories(folder.path() / "in" / std::string(60, 'd'));
    write_file(folder / "in/a.jpg", std::string(1000, 'a'));
    write_file(folder / "in/a.cls", "1");
    write_file(folder / ("in/" + long_name), "long");
    fs::create_symlink("a.jpg", folder / "in/link");
    for (const char* format : {"ustar", "gnu", "posix"}) {
        const std::string tar = (folder / format).string() + ".tar";
        const std::string command =
            "tar --format=" + std::string(format) + " -C " + folder.path().string() + " -cf " + tar + " in";
        REQUIRE(std::system(command.c_str()) == 0);
        const std::string text = file_text(tar);
        std::map<std::string, std::string> contents;
        for (const TarMember& member : members_of(text))
            contents[member.name] = text.substr(member.offset, member.size);
        INFO(format);
        CHECK(contents.size() == 3);
        CHECK(contents["in/a.jpg"] == std::string(1000, 'a'));
        CHECK(contents["in/a.cls"] == "1");
        CHECK(contents["in/" + long_name] == "long");
    }
}

TEST_CASE("keys without a class or a picture are refused") {
    const ScratchFolder folder;
    const auto write_tar = [&](const std::vector<std::pair<std::string, std::string>>& members) {
        std::string text;
        for (const auto& [name, contents] : members)
            text += tar_header(name, contents.size()) + contents +
                    std::string((512 - contents.size() % 512) % 512, '\0');
        write_file(folder / "train-0.tar", text + std::string(1024, '\0'));
    };
    const auto reason = [&] {
        return error_of(ExitCode::kData,
                        [&] { open_source(options_of(folder.path().string(), SourceType::kShards)); });
    };
    write_tar({{"a/1.jpg", "x"}, {"a/2.jpg", "x"}, {"a/2.cls", "0"}});
    CHECK_THAT(reason(), Catch::Contains("a/1: has a picture, but no .cls"));
    write_tar({{"1.cls", "0"}});
    CHECK_THAT(reason(), Catch::Contains("1: has a class, but no picture"));
    write_tar({{"1.jpg", "x"}, {"1.cls", "zero"}});
    CHECK_THAT(reason(), Catch::Contains("1.cls: 'zero' is no number of a class"));
    write_tar({{"1.jpg", "x"}, {"1.png", "x"}, {"1.cls", "0"}});
    CHECK_THAT(reason(), Catch::Contains("a second picture"));
    // H17: a label outside of the classes
    write_tar({{"1.jpg", "x"}, {"1.cls", "0"}, {"2.jpg", "x"}, {"2.cls", "7"}});
    CHECK_THAT(reason(), Catch::Contains("train-0.tar: sample 1 has class 7, allowed are 0..1"));
}
