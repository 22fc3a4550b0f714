// Damaged or wrong IDX files: exit code 3 and one line that names file, place, value and what was expected.
#include <catch2/catch.hpp>
#include <filesystem>

#include "core/error.h"
#include "dataset/dataset.h"
#include "support/dataset_files.h"

using namespace mpt;
using namespace mpt::test;

namespace {

const char* const kImages = "train-images-idx3-ubyte";
const char* const kLabels = "train-labels-idx1-ubyte";

// The message of the Error(kData) that opening the folder must end with.
std::string failure(const std::string& path, std::int64_t num_classes = 10) {
    SourceOptions options;
    options.path = path;
    options.num_classes = num_classes;
    options.if_missing = MissingData::kSynthetic;  // must not hide damage
    try {
        open_source(options);
    } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kData);
        const std::string message = error.what();
        CHECK(message.find('\n') == std::string::npos);
        return message;
    }
    return "no error";
}

void check_mentions(const std::string& message, const std::vector<std::string>& parts) {
    INFO(message);
    for (const std::string& part : parts) {
        INFO(part);
        CHECK(message.find(part) != std::string::npos);
    }
}

Bytes idx_header(std::uint32_t magic, const std::vector<std::uint32_t>& sizes) {
    Bytes bytes;
    append_u32(bytes, magic);
    for (const std::uint32_t size : sizes) append_u32(bytes, size);
    return bytes;
}

}  // namespace

TEST_CASE("a label outside the classes names file, sample, value and range") {
    const DataFolder folder;
    write_idx(folder, 50);
    for (const int bad : {10, 255}) {
        Bytes labels = idx_labels(50);
        labels[8 + 37] = static_cast<std::uint8_t>(bad);
        folder.write(kLabels, labels);
        check_mentions(failure(folder.path()),
                       {folder.file(kLabels), "sample 37 ", "label " + std::to_string(bad), "0..9"});
    }
    folder.write(kLabels, idx_labels(50));
    check_mentions(failure(folder.path(), 4), {"sample 4 has label 4", "0..3"});
    CHECK(failure(folder.path(), 11) == "no error");
}

TEST_CASE("a web page, a label file, twice packed data: magic found and expected") {
    const DataFolder folder;
    write_idx(folder, 5);
    folder.write(kImages, "<!DOCTYPE html><html><body>404 not found</body></html>");
    check_mentions(failure(folder.path()), {folder.file(kImages), "0x3C21444F", "0x00000803", "HTML page"});
    folder.write(kImages, idx_labels(5));
    check_mentions(failure(folder.path()), {folder.file(kImages), "0x00000801", "0x00000803", "label file"});
    folder.write(kImages, gzip(gzip(idx_images(5, 4, 5))));
    check_mentions(failure(folder.path()), {"0x1F8B", "0x00000803", "gzip"});
    folder.write(kImages, gzip(idx_labels(5)));
    check_mentions(failure(folder.path()), {"0x00000801", "0x00000803"});
    write_idx(folder, 5);
    folder.write(kLabels, idx_images(5, 4, 5));
    check_mentions(failure(folder.path()), {folder.file(kLabels), "0x00000803", "0x00000801", "image file"});
    folder.write(kLabels, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    check_mentions(failure(folder.path()), {folder.file(kLabels), "0x76657273", "Git LFS pointer"});
}

TEST_CASE("cut files: expected and actual bytes") {
    const DataFolder folder;
    write_idx(folder, 50);
    Bytes images = idx_images(50, 4, 5);  // 1016 bytes
    images.resize(images.size() - 100);
    folder.write(kImages, images);
    check_mentions(failure(folder.path()), {folder.file(kImages), "1016", "916", "50 images of 4x5"});
    folder.write(kImages, gzip(images));
    check_mentions(failure(folder.path()), {folder.file(kImages), "1016", "916 bytes unpacked"});
    Bytes packed = gzip(idx_images(50, 4, 5));
    packed.resize(packed.size() - 100);
    folder.write(kImages, packed);
    check_mentions(failure(folder.path()),
                   {folder.file(kImages), "cut short", "expected 1016 bytes unpacked"});
    for (const std::size_t length : {0, 1, 3, 4, 15}) {
        Bytes head = idx_images(50, 4, 5);
        head.resize(length);
        folder.write(kImages, head);
        check_mentions(failure(folder.path()), {"16 bytes", "the file has " + std::to_string(length)});
    }
}

TEST_CASE("bytes after the data") {
    const DataFolder folder;
    write_idx(folder, 5);
    Bytes images = idx_images(5, 4, 5);
    images.insert(images.end(), 3, 0);
    folder.write(kImages, images);
    check_mentions(failure(folder.path()), {"116", "119", "3 bytes follow"});
    folder.write(kImages, gzip(images));
    check_mentions(failure(folder.path()), {"116", "119", "3 bytes follow"});
    Bytes packed = gzip(idx_images(5, 4, 5));
    packed.insert(packed.end(), {1, 2, 3, 4, 5});
    folder.write(kImages, packed);
    check_mentions(failure(folder.path()), {folder.file(kImages), "5 bytes follow the end of the gzip data"});
    // The tail looks right, so only reading tells.
    Bytes faked = gzip(images);
    faked[faked.size() - 4] = 116;
    folder.write(kImages, faked);
    check_mentions(failure(folder.path()), {folder.file(kImages)});
}

TEST_CASE("gzip: a broken checksum, length or byte") {
    const DataFolder folder;
    write_idx(folder, 50);
    const Bytes good = gzip(idx_images(50, 4, 5));
    Bytes bad = good;
    bad[bad.size() - 6] ^= 1;
    folder.write(kImages, bad);
    check_mentions(failure(folder.path()), {folder.file(kImages), "checksum"});
    bad = good;
    bad[bad.size() - 1] ^= 1;
    folder.write(kImages, bad);
    check_mentions(failure(folder.path()), {folder.file(kImages), "length check"});
    // One flipped bit anywhere behind the gzip header is found, unless deflate does not need it (padding).
    std::size_t found = 0;
    for (std::size_t at = 10; at < good.size(); ++at) {
        bad = good;
        bad[at] ^= 0x10;
        folder.write(kImages, bad);
        const std::string message = failure(folder.path());
        if (message != "no error") {
            check_mentions(message, {folder.file(kImages)});
            ++found;
            continue;
        }
        SourceOptions options;
        options.path = folder.path();
        const auto source = open_source(options).source;
        Bytes image(20);
        for (std::size_t i = 0; i < 50; ++i) {
            source->copy_image(static_cast<std::int64_t>(i), image.data());
            for (std::size_t pixel = 0; pixel < 20; ++pixel) REQUIRE(image[pixel] == idx_pixel(i, pixel));
        }
    }
    CHECK(found + 5 >= good.size() - 10);
    bad = gzip(idx_labels(50));
    bad[bad.size() - 6] ^= 1;
    write_idx(folder, 50);
    folder.write(kLabels, bad);
    check_mentions(failure(folder.path()), {folder.file(kLabels), "checksum"});
}

TEST_CASE("headers that claim more than there is are refused before memory is taken") {
    const DataFolder folder;
    write_idx(folder, 5);
    struct Case {
        std::vector<std::uint32_t> sizes;
        std::vector<std::string> parts;
    };
    const std::vector<Case> cases = {
        {{0x7fffffff, 16384, 16384}, {"576460752034988048", "16 bytes"}},
        {{0xffffffff, 28, 28}, {"4294967295 samples"}},
        {{60000, 0xffffffff, 0xffffffff}, {"4294967295x4294967295"}},
        {{60000, 0, 28}, {"0x28"}},
        {{0, 28, 28}, {"0 samples"}},
        {{0x10000, 0x10000, 1}, {"65536x1"}},
    };
    for (const Case& c : cases) {
        for (const bool packed : {false, true}) {
            const Bytes header = idx_header(0x803, c.sizes);
            folder.write(kImages, packed ? gzip(header) : header);
            const std::string message = failure(folder.path());
            check_mentions(message, {folder.file(kImages)});
            check_mentions(message, c.parts);
        }
    }
    write_idx(folder, 5);
    folder.write(kLabels, idx_header(0x801, {0x7fffffff}));
    check_mentions(failure(folder.path()), {folder.file(kLabels), "2147483655", "8 bytes"});
    folder.write(kLabels, idx_header(0x801, {0}));
    check_mentions(failure(folder.path()), {folder.file(kLabels), "0 samples"});
}

TEST_CASE("images and labels of different numbers name both files and both counts") {
    const DataFolder folder;
    write_idx(folder, 50);
    folder.write(kLabels, idx_labels(49));
    check_mentions(failure(folder.path()),
                   {folder.file(kImages), folder.file(kLabels), "50 images", "49 labels"});
}

TEST_CASE("missing data: the absolute path and the remedy") {
    const DataFolder folder;
    SourceOptions options;
    const auto message = [&options] {
        try {
            open_source(options);
        } catch (const Error& error) {
            CHECK(error.code() == ExitCode::kData);
            return std::string(error.what());
        }
        return std::string("no error");
    };
    options.path = "no/such/folder";
    check_mentions(message(), {(std::filesystem::current_path() / "no/such/folder").string(),
                               "apt install dataset-fashion-mnist", "if_missing"});
    options.path = folder.path();
    check_mentions(message(), {folder.path(), "train-images-idx3-ubyte", ".gz", "apt install"});
    folder.write(kImages, idx_images(5, 4, 5));
    check_mentions(message(), {"train-labels-idx1-ubyte"});
    folder.write(kLabels, idx_labels(5));
    options.split = Split::kTest;
    check_mentions(message(), {"t10k-images-idx3-ubyte"});
    options.path = folder.file(kImages);
    check_mentions(message(), {folder.file(kImages), "not a folder"});
    options.path = "";
    check_mentions(message(), {"data.path"});
    options.path = folder.path();
    options.type = SourceType::kImageFolder;
    check_mentions(message(), {folder.path(), "train/<class>/"});
    options.path = folder.file("nowhere");
    options.type = SourceType::kCifar10;
    check_mentions(message(), {folder.file("nowhere"), "cifar-10-binary.tar.gz"});
}

TEST_CASE("a folder in the place of a file") {
    const DataFolder folder;
    write_idx(folder, 5);
    folder.remove(kImages);
    std::filesystem::create_directory(folder.file(kImages));
    check_mentions(failure(folder.path()), {folder.file(kImages), "not a regular file"});
}

TEST_CASE("images of another size than the config asks for") {
    const DataFolder folder;
    write_idx(folder, 5);
    SourceOptions options;
    options.path = folder.path();
    options.geometry = {28, 28, 1};
    CHECK_THROWS_WITH(open_source(options), Catch::Contains("4x5x1") && Catch::Contains("28x28x1") &&
                                                Catch::Contains(folder.path()));
    options.geometry = {4, 5, 0};
    CHECK(open_source(options).source->num_samples() == 5);
}

TEST_CASE("drop_last with fewer samples than the batch gives both numbers") {
    const DataFolder folder;
    write_idx(folder, 7);
    SourceOptions options;
    options.path = folder.path();
    const auto source = open_source(options).source;
    StreamOptions stream;
    stream.batching = {8, 2, true};
    try {
        BatchStream refused(*source, stream);
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kData);
        check_mentions(error.what(), {folder.path(), "7 samples", "batch_size 8", "drop_last"});
    }
    stream.batching.drop_last = false;
    BatchStream accepted(*source, stream);
    CHECK(accepted.next().batch->window_samples == 7);
}

TEST_CASE("a position to resume at outside the data") {
    const DataFolder folder;
    write_idx(folder, 7);
    SourceOptions options;
    options.path = folder.path();
    const auto source = open_source(options).source;
    StreamOptions stream;
    stream.start = {3, 8};
    try {
        BatchStream refused(*source, stream);
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kCheckpoint);
        check_mentions(error.what(), {"sample 8", "epoch 3", "7 samples"});
    }
}
