// Damaged or wrong CIFAR-10 files, and random damage to both formats.
#include <catch2/catch.hpp>

#include "core/error.h"
#include "core/philox.h"
#include "dataset/dataset.h"
#include "support/dataset_files.h"

using namespace mpt;
using namespace mpt::test;

namespace {

SourceOptions options_at(const std::string& path, SourceType type) {
    SourceOptions options;
    options.path = path;
    options.type = type;
    options.if_missing = MissingData::kSynthetic;
    return options;
}

std::string failure(const DataFolder& folder) {
    try {
        open_source(options_at(folder.path(), SourceType::kCifar10));
    } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kData);
        return error.what();
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

}  // namespace

TEST_CASE("CIFAR-10: a label outside the classes is named within its file") {
    const DataFolder folder;
    write_cifar10(folder, 4);
    Bytes records = cifar_records(8, 4);
    records[3073 * 2] = 10;
    folder.write("data_batch_3.bin", records);
    check_mentions(failure(folder), {folder.file("data_batch_3.bin"), "sample 2 ", "label 10", "0..9"});
}

TEST_CASE("CIFAR-10: cut, empty and foreign files") {
    const DataFolder folder;
    write_cifar10(folder, 2);
    Bytes records = cifar_records(2, 2);
    records.resize(records.size() - 100);
    folder.write("data_batch_2.bin", records);
    check_mentions(failure(folder), {folder.file("data_batch_2.bin"), "6046 bytes", "3073", "cut short"});
    folder.write("data_batch_2.bin", Bytes{});
    check_mentions(failure(folder), {folder.file("data_batch_2.bin"), "0 samples"});
    folder.write("data_batch_2.bin", "  <html>404</html>");
    check_mentions(failure(folder), {folder.file("data_batch_2.bin"), "HTML page"});
    Bytes packed = gzip(cifar_records(2, 2));
    packed[packed.size() - 5] ^= 0x40;
    folder.write("data_batch_2.bin", packed);
    check_mentions(failure(folder), {folder.file("data_batch_2.bin"), "checksum"});
    packed.resize(packed.size() / 2);
    folder.write("data_batch_2.bin", packed);
    check_mentions(failure(folder), {folder.file("data_batch_2.bin"), "cut short"});
}

TEST_CASE("CIFAR-10: a batch that is not there is named") {
    const DataFolder folder;
    write_cifar10(folder, 2);
    folder.remove("data_batch_4.bin");
    SourceOptions options = options_at(folder.path(), SourceType::kCifar10);
    options.if_missing = MissingData::kError;
    CHECK_THROWS_WITH(open_source(options),
                      Catch::Contains("data_batch_4.bin") && Catch::Contains(folder.path()));
}

TEST_CASE("CIFAR-10: a list of class names of another length") {
    const DataFolder folder;
    write_cifar10(folder, 2);
    folder.write("batches.meta.txt", "one\ntwo\n\nthree");
    check_mentions(failure(folder), {folder.file("batches.meta.txt"), "3 class names", "10"});
}

namespace {

// One to four edits: a byte changed, the end cut off or extended, a number in the header replaced by an odd
// one.
Bytes mutated(Bytes bytes, RandomStream& random) {
    const std::uint64_t edits = 1 + random.below(4);
    for (std::uint64_t i = 0; i < edits; ++i) {
        const std::uint64_t kind = random.below(5);
        if (bytes.empty() || kind == 0) {
            bytes.resize(bytes.size() + random.below(20), static_cast<std::uint8_t>(random.next_u32()));
        } else if (kind == 1) {
            bytes.resize(random.below(bytes.size()));
        } else if (kind == 2) {
            bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next_u32());
        } else if (kind == 3) {
            bytes[random.below(std::min<std::size_t>(bytes.size(), 24))] ^=
                static_cast<std::uint8_t>(1u << random.below(8));
        } else if (bytes.size() >= 16) {
            const std::uint32_t odd[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000, 28, 3073};
            Bytes word;
            append_u32(word, odd[random.below(8)]);
            std::copy(word.begin(), word.end(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(4 * random.below(4)));
        }
    }
    return bytes;
}

// Opens the damaged folder and reads all of it if that works. Anything but mpt::Error leaves the test.
bool opens(const DataFolder& folder, SourceType type) {
    try {
        const auto source = open_source(options_at(folder.path(), type)).source;
        Bytes image(static_cast<std::size_t>(source->geometry().bytes()));
        for (std::int64_t i = 0; i < source->num_samples(); ++i) {
            source->copy_image(i, image.data());
            REQUIRE(source->label(i) >= 0);
            REQUIRE(source->label(i) < 10);
        }
        return true;
    } catch (const Error& error) {
        REQUIRE(error.code() == ExitCode::kData);
        REQUIRE(std::string(error.what()).find(folder.path()) != std::string::npos);
        return false;
    }
}

}  // namespace

TEST_CASE("random damage to IDX files gives a message or good data, nothing else") {
    const DataFolder folder;
    RandomStream random(2024, RandomPurpose::kSample, 0);
    const Bytes images = idx_images(3, 4, 5), labels = idx_labels(3);
    const Bytes images_gz = gzip(images), labels_gz = gzip(labels);
    int refused = 0;
    for (int round = 0; round < 1500; ++round) {
        const bool packed = random.below(2) == 0;
        const std::uint64_t which = random.below(3);
        const Bytes& image_file = packed ? images_gz : images;
        const Bytes& label_file = packed ? labels_gz : labels;
        folder.write("train-images-idx3-ubyte", which == 0 ? image_file : mutated(image_file, random));
        folder.write("train-labels-idx1-ubyte", which == 1 ? label_file : mutated(label_file, random));
        refused += !opens(folder, SourceType::kIdx);
    }
    CHECK(refused > 1000);
    CHECK(refused < 1500);
}

TEST_CASE("random damage to CIFAR-10 files gives a message or good data, nothing else") {
    const DataFolder folder;
    RandomStream random(2025, RandomPurpose::kSample, 0);
    write_cifar10(folder, 1);
    const Bytes good = cifar_records(0, 2), packed = gzip(good);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        folder.write("data_batch_1.bin", mutated(random.below(2) == 0 ? good : packed, random));
        refused += !opens(folder, SourceType::kCifar10);
    }
    CHECK(refused > 150);
    CHECK(refused < 300);
}
