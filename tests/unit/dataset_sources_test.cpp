// Good files: every byte of what a source hands out is compared with what was written.
#include <algorithm>
#include <catch2/catch.hpp>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "core/error.h"
#include "dataset/dataset.h"
#include "support/dataset_files.h"

using namespace mpt;
using namespace mpt::test;

namespace {

SourceOptions idx_at(const std::string& path) {
    SourceOptions options;
    options.path = path;
    return options;
}

Bytes image_of(const ImageSource& source, std::int64_t index) {
    Bytes image(static_cast<std::size_t>(source.geometry().bytes()));
    source.copy_image(index, image.data());
    return image;
}

void check_idx(const ImageSource& source, std::int64_t count) {
    REQUIRE(source.num_samples() == count);
    REQUIRE(source.geometry() == ImageGeometry{4, 5, 1});
    for (std::int64_t i = 0; i < count; ++i) {
        const Bytes image = image_of(source, i);
        for (std::size_t at = 0; at < image.size(); ++at) {
            REQUIRE(image[at] == idx_pixel(static_cast<std::size_t>(i), at));
        }
        REQUIRE(source.label(i) == i % 10);
    }
}

Bytes joined(const Bytes& a, const Bytes& b) {
    Bytes both = a;
    both.insert(both.end(), b.begin(), b.end());
    return both;
}

}  // namespace

TEST_CASE("IDX files, plain and gzip in every spelling") {
    const Bytes images = idx_images(23, 4, 5), labels = idx_labels(23);
    const Bytes images_gz = gzip(images), labels_gz = gzip(labels);
    const auto at = static_cast<std::ptrdiff_t>(100);
    const Bytes two_members =
        joined(gzip({images.begin(), images.begin() + at}), gzip({images.begin() + at, images.end()}));
    struct Case {
        const char *images_name, *labels_name;
        const Bytes &images, &labels;
    };
    const std::vector<Case> cases = {
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", images, labels},
        {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", images_gz, labels_gz},
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", images_gz, labels},  // names that lie
        {"train-images.idx3-ubyte", "train-labels.idx1-ubyte", images, labels},
        {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte", two_members, labels}};
    for (const Case& c : cases) {
        const DataFolder folder;
        folder.write(c.images_name, c.images);
        folder.write(c.labels_name, c.labels);
        INFO(c.images_name);
        const OpenedSource opened = open_source(idx_at(folder.path()));
        CHECK(opened.warning.empty());
        CHECK(opened.source->info().origin == folder.path());
        CHECK(opened.source->memory_bytes() == 23 * 20 + 23 * 4);
        check_idx(*opened.source, 23);
    }
}

TEST_CASE("the test split and a limit") {
    const DataFolder folder;
    write_idx(folder, 9);
    folder.write("t10k-images-idx3-ubyte", idx_images(6, 4, 5));
    folder.write("t10k-labels-idx1-ubyte", idx_labels(6));
    SourceOptions options = idx_at(folder.path());
    options.split = Split::kTest;
    check_idx(*open_source(options).source, 6);
    options.split = Split::kTrain;
    options.limit = 4;
    const auto limited = open_source(options).source;
    check_idx(*limited, 4);
    CHECK(limited->memory_bytes() == 4 * 24);
    options.limit = 100;
    check_idx(*open_source(options).source, 9);
}

TEST_CASE("folders with spaces and other letters, whatever the locale") {
    const DataFolder folder("my data/Ö 图片");
    write_idx(folder, 12);
    write_cifar10(folder, 1);
    folder.write("batches.meta.txt", "a b\nÖl\n图片\nd\ne\nf\ng\nh\ni\nj\n");
    const std::string before = std::setlocale(LC_ALL, nullptr);
    for (const char* locale : {"C", "C.UTF-8"}) {
        if (!std::setlocale(LC_ALL, locale)) continue;
        check_idx(*open_source(idx_at(folder.path())).source, 12);
        SourceOptions options = idx_at(folder.path());
        options.type = SourceType::kCifar10;
        const auto source = open_source(options).source;
        CHECK(source->info().origin == folder.path());
        CHECK(source->info().class_names[1] == "Öl");
    }
    std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("CIFAR-10: planes become pixels, files follow each other, names are read") {
    for (const std::string prefix : {"", "cifar-10-batches-bin/"}) {
        const DataFolder folder;
        write_cifar10(folder, 3, prefix);
        folder.write(prefix + "batches.meta.txt", "airplane\r\nb\nc\nd\ne\nf\ng\nh\ni\ntruck\n\n");
        SourceOptions options = idx_at(folder.path());
        options.type = SourceType::kCifar10;
        const auto train = open_source(options).source;
        options.split = Split::kTest;
        const auto test = open_source(options).source;
        REQUIRE(train->num_samples() == 15);
        REQUIRE(test->num_samples() == 3);
        CHECK(train->geometry() == ImageGeometry{32, 32, 3});
        REQUIRE(train->info().class_names.size() == 10);
        CHECK(train->info().class_names.front() == "airplane");
        CHECK(train->info().class_names.back() == "truck");
        for (std::size_t i = 0; i < 18; ++i) {
            const ImageSource& source = i < 15 ? *train : *test;
            const auto index = static_cast<std::int64_t>(i < 15 ? i : i - 15);
            REQUIRE(source.label(index) == static_cast<std::int32_t>(i % 10));
            const Bytes image = image_of(source, index);
            for (std::size_t at = 0; at < 3072; ++at) {
                REQUIRE(image[at % 1024 * 3 + at / 1024] == cifar_byte(i, at));
            }
        }
    }
}

TEST_CASE("CIFAR-10 without names, and packed one by one") {
    const DataFolder folder;
    write_cifar10(folder, 2);
    folder.write("data_batch_2.bin", gzip(cifar_records(2, 2)));
    SourceOptions options = idx_at(folder.path());
    options.type = SourceType::kCifar10;
    const auto source = open_source(options).source;
    CHECK(source->info().class_names.empty());
    CHECK(source->num_samples() == 10);
    CHECK(image_of(*source, 2)[0] == cifar_byte(2, 0));
    CHECK(image_of(*source, 2)[1] == cifar_byte(2, 1024));
}

// Reference: two passes in double precision.
TEST_CASE("channel statistics") {
    SourceOptions options;
    options.type = SourceType::kSynthetic;
    options.geometry = {5, 6, 3};
    options.synthetic_samples = 50;
    const auto source = open_source(options).source;
    const ChannelStatistics statistics = channel_statistics(*source);
    for (std::size_t c = 0; c < 3; ++c) {
        double sum = 0, squares = 0;
        for (const bool second : {false, true}) {
            for (std::int64_t i = 0; i < 50; ++i) {
                const Bytes image = image_of(*source, i);
                for (std::size_t at = c; at < image.size(); at += 3) {
                    const double pixel = image[at] / 255.0;
                    if (second)
                        squares += (pixel - sum / 1500) * (pixel - sum / 1500);
                    else
                        sum += pixel;
                }
            }
        }
        CHECK(statistics.mean[c] == Approx(sum / 1500).epsilon(1e-6));
        CHECK(statistics.stddev[c] == Approx(std::sqrt(squares / 1500)).epsilon(1e-5));
    }
}

TEST_CASE("synthetic images are a function of the seed and tell their class") {
    SourceOptions options;
    options.type = SourceType::kSynthetic;
    options.geometry = {16, 16, 3};
    options.synthetic_samples = 400;
    const auto train = open_source(options).source, again = open_source(options).source;
    options.split = Split::kTest;
    const auto test = open_source(options).source;
    options.seed = 1;
    const auto other = open_source(options).source;
    std::vector<std::vector<double>> means(10, std::vector<double>(768));
    for (std::int64_t i = 0; i < 400; ++i) {
        const Bytes image = image_of(*train, i);
        CHECK(image == image_of(*again, i));
        CHECK(image != image_of(*test, i));
        CHECK(image != image_of(*other, i));
        auto& mean = means[static_cast<std::size_t>(train->label(i))];
        for (std::size_t at = 0; at < image.size(); ++at) mean[at] += image[at] / 40.0;
    }
    // The nearest class mean of the training split classifies the test split.
    int right = 0;
    for (std::int64_t i = 0; i < 400; ++i) {
        const Bytes image = image_of(*test, i);
        std::vector<double> distance(10);
        for (std::size_t k = 0; k < 10; ++k) {
            for (std::size_t at = 0; at < image.size(); ++at) {
                distance[k] += (image[at] - means[k][at]) * (image[at] - means[k][at]);
            }
        }
        right += std::min_element(distance.begin(), distance.end()) - distance.begin() == test->label(i);
    }
    CHECK(right >= 390);
}

TEST_CASE("synthetic sets of any size take at most 32 MiB of pixels") {
    SourceOptions options;
    options.type = SourceType::kSynthetic;
    options.geometry = {224, 224, 3};
    options.num_classes = 1000;
    options.synthetic_samples = 1281167;
    const auto source = open_source(options).source;
    CHECK(source->num_samples() == 1281167);
    CHECK(source->memory_bytes() <= (32 << 20) + 4096);
    CHECK(image_of(*source, 1281166).size() == 150528);
    std::int32_t highest = 0;
    for (std::int64_t i = 0; i < 2000; ++i) highest = std::max(highest, source->label(i));
    CHECK(highest > 900);
    CHECK(highest < 1000);
}

TEST_CASE("files that are not there become synthetic images when asked for, with a warning") {
    const DataFolder folder;
    SourceOptions options = idx_at(folder.file("nowhere"));
    options.if_missing = MissingData::kSynthetic;
    options.synthetic_samples = 77;
    const OpenedSource idx = open_source(options);
    CHECK(idx.source->geometry() == ImageGeometry{28, 28, 1});
    CHECK(idx.source->num_samples() == 77);
    CHECK(idx.warning.find(folder.file("nowhere")) != std::string::npos);
    CHECK(idx.warning.find("77 synthetic images") != std::string::npos);
    options.type = SourceType::kCifar10;
    CHECK(open_source(options).source->geometry() == ImageGeometry{32, 32, 3});
    options.type = SourceType::kImageFolder;
    options.path = folder.path();
    CHECK(open_source(options).source->geometry() == ImageGeometry{224, 224, 3});
    options.geometry = {64, 64, 0};
    CHECK(open_source(options).source->geometry() == ImageGeometry{64, 64, 3});
}

// Reference: the SHA-256 of the published files (zalandoresearch/fashion-mnist), unpacked, and their known
// mean and deviation.
TEST_CASE("Fashion-MNIST as Debian packs it") {
    const std::string path = "/usr/share/datasets/fashion-mnist";
    if (!std::filesystem::exists(path)) {
        std::cout << "SKIPPED: dataset-fashion-mnist is not installed\n";
        return;
    }
    const DataFolder folder;
    const auto sha256 = [&](const Bytes& header, const ImageSource& source, bool labels) {
        const std::string result = folder.file("sum");
        std::FILE* pipe = popen(("sha256sum > '" + result + "'").c_str(), "w");
        REQUIRE(pipe != nullptr);
        std::fwrite(header.data(), 1, header.size(), pipe);
        for (std::int64_t i = 0; i < source.num_samples(); ++i) {
            const Bytes bytes =
                labels ? Bytes{static_cast<std::uint8_t>(source.label(i))} : image_of(source, i);
            std::fwrite(bytes.data(), 1, bytes.size(), pipe);
        }
        REQUIRE(pclose(pipe) == 0);
        std::string sum;
        std::ifstream(result) >> sum;
        return sum;
    };
    for (const Split split : {Split::kTrain, Split::kTest}) {
        const bool train = split == Split::kTrain;
        SourceOptions options = idx_at(path);
        options.split = split;
        const auto source = open_source(options).source;
        const std::uint32_t count = train ? 60000 : 10000;
        REQUIRE(source->num_samples() == count);
        Bytes images, labels;
        for (const std::uint32_t word : {0x803u, count, 28u, 28u}) append_u32(images, word);
        for (const std::uint32_t word : {0x801u, count}) append_u32(labels, word);
        const std::string images_sum = sha256(images, *source, false),
                          labels_sum = sha256(labels, *source, true);
        CHECK(images_sum == (train ? "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
                                   : "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"));
        CHECK(labels_sum == (train ? "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"
                                   : "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"));
        if (!train) continue;
        const ChannelStatistics statistics = channel_statistics(*source);
        CHECK(statistics.mean[0] == Approx(0.2860).margin(5e-5));
        CHECK(statistics.stddev[0] == Approx(0.3530).margin(5e-5));
    }
}
