// Pictures as a source of training samples: any number of workers and any start give the same bytes;
// evaluation and random crops follow torchvision's definitions, written down here once more.
#include "dataset/pictures/picture_source.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <numeric>

#include "dataset/dataset.h"
#include "dataset/pictures/resize.h"
#include "dataset/sample_augmenter.h"
#include "support/dataset_files.h"
#include "support/pictures.h"

using namespace mpt;
using namespace mpt::test;

namespace {

AugmentOptions everything() {
    AugmentOptions augment;
    augment.crop_padding = 2;
    augment.horizontal_flip = true;
    augment.random_resized_crop = true;
    augment.color_jitter = {0.4, 0.4, 0.4, 0.1};
    augment.rand_augment_magnitude = 9;
    augment.random_erasing = 0.5;
    augment.erase_colour = {120, 110, 100};
    return augment;
}

void write_set(const DataFolder& folder, int count) {
    for (int i = 0; i < count; ++i) {
        const TestPicture picture = smooth_picture(40 + 7 * i % 50, 90 - 11 * i % 60, i % 4 == 0 ? 1 : 3);
        folder.write("train/" + std::string(i % 2 == 0 ? "a/" : "b/") + std::to_string(i + 10) + ".x",
                     i % 3 == 0 ? encode_png(picture) : encode_jpeg(picture, {.orientation = i % 9}));
    }
}

SourceOptions options_of(const DataFolder& folder, ImageGeometry geometry, std::int64_t resize = 0) {
    SourceOptions options;
    options.type = SourceType::kImageFolder;
    options.path = folder.path();
    options.num_classes = 2;
    options.geometry = geometry;
    options.resize = resize;
    return options;
}

struct Copied {
    std::vector<std::uint64_t> hashes;
    std::vector<std::int64_t> ids;
    bool operator==(const Copied&) const = default;
};

Copied take(const ImageSource& source, StreamOptions options, int workers, int prefetch) {
    options.workers = workers;
    options.prefetch = prefetch;
    Copied copied;
    BatchStream stream(source, options);
    for (NextBatch next = stream.next(); next.batch; next = stream.next()) {
        copied.hashes.push_back(next.batch->hash);
        copied.ids.insert(copied.ids.end(), next.batch->sample_ids.begin(), next.batch->sample_ids.end());
    }
    return copied;
}

// As torchvision: Resize of the short side, then CenterCrop, each on whole pictures.
PictureBytes resize_and_crop(const TestPicture& picture, std::int64_t resize, std::int64_t height,
                             std::int64_t width) {
    const std::int64_t side = std::min(picture.height, picture.width);
    const std::int64_t h = picture.height * resize / side, w = picture.width * resize / side;
    TestPicture resized{h, w, picture.channels,
                        PictureBytes(static_cast<std::size_t>(h * w * picture.channels))};
    Resizer().resize(picture.view(),
                     {0, 0, static_cast<double>(picture.height), static_cast<double>(picture.width)}, h, w,
                     resized.pixels.data());
    const PictureView part = resized.view().part(
        {static_cast<std::int64_t>(std::nearbyint(static_cast<double>(h - height) / 2)),
         static_cast<std::int64_t>(std::nearbyint(static_cast<double>(w - width) / 2)), height, width});
    PictureBytes out;
    for (std::int64_t y = 0; y < height; ++y)
        out.insert(out.end(), part.row(y), part.row(y) + width * picture.channels);
    return out;
}

std::int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * 4096;
}

}  // namespace

TEST_CASE("batches of pictures do not depend on workers, prefetching or the start") {
    const DataFolder folder;
    write_set(folder, 23);
    const auto source = open_source(options_of(folder, {24, 20, 3})).source;
    StreamOptions options;
    options.seed = 5;
    options.augment = everything();
    options.batching = {8, 2, false};
    options.end_epoch = 3;
    const Copied expected = take(*source, options, 0, 1);
    CHECK(expected.ids.size() == 3 * 23);
    for (const int workers : {1, 2, 5})
        for (const int prefetch : {1, 4}) CHECK(take(*source, options, workers, prefetch) == expected);
    // From the second update of the second epoch on: 23 samples are batches of 4 4 4 4 4 3.
    options.start = {1, 8};
    const Copied rest = take(*source, options, 2, 2);
    CHECK(rest.hashes == std::vector<std::uint64_t>(expected.hashes.begin() + 6 + 2, expected.hashes.end()));
    // An epoch draws anew, its samples are those of any other.
    std::vector<std::int64_t> first(expected.ids.begin(), expected.ids.begin() + 23);
    std::vector<std::int64_t> second(expected.ids.begin() + 23, expected.ids.begin() + 46);
    CHECK(first != second);
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    CHECK(first == second);
    CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
}

TEST_CASE("an augmentation that is switched on leaves the draws of the others") {
    const DataFolder folder;
    write_set(folder, 4);
    const auto source = open_source(options_of(folder, {24, 20, 3})).source;
    AugmentOptions flips, more;
    flips.horizontal_flip = more.horizontal_flip = true;
    more.random_erasing = 1;
    more.erase_colour = {1, 2, 3};
    PictureBytes a(24 * 20 * 3), b = a;
    for (std::int64_t sample = 0; sample < 4; ++sample) {
        source->make_sample_maker(flips, 9)->make(sample, 3, a.data());
        source->make_sample_maker(more, 9)->make(sample, 3, b.data());
        int erased = 0, other = 0;
        for (std::size_t i = 0; i < a.size(); i += 3) {
            const bool mean = b[i] == 1 && b[i + 1] == 2 && b[i + 2] == 3;
            erased += mean ? 1 : 0;
            other += !mean && std::equal(&a[i], &a[i] + 3, &b[i]) ? 1 : 0;
        }
        CHECK(erased + other == 24 * 20);
        CHECK(erased >= 24 * 20 * 0.01);
        CHECK(erased <= 24 * 20 * 0.36);
    }
}

TEST_CASE("evaluation resizes the short side and cuts out the middle") {
    const DataFolder folder;
    const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {{50, 80},  {81, 37},  {33, 33},
                                                                      {30, 200}, {300, 31}, {16, 20}};
    for (std::size_t i = 0; i < sizes.size(); ++i)
        folder.write("train/a/" + std::to_string(i),
                     encode_png(test_picture(sizes[i].first, sizes[i].second, 3)));
    SourceOptions options = options_of(folder, {24, 24, 3}, 29);
    options.num_classes = 1;
    const auto source = open_source(options).source;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        PictureBytes image(24 * 24 * 3);
        source->copy_image(static_cast<std::int64_t>(i), image.data());
        const TestPicture picture = test_picture(sizes[i].first, sizes[i].second, 3);
        INFO(i);
        CHECK(largest_difference(image, resize_and_crop(picture, 29, 24, 24)) <= 1);
    }
}

TEST_CASE("pictures of the geometry are taken as they are") {
    const DataFolder folder;
    const TestPicture grey = test_picture(28, 28, 1);
    folder.write("train/a/0.png", encode_png(grey));
    SourceOptions options = options_of(folder, {28, 28, 1});
    options.num_classes = 1;
    PictureBytes image(28 * 28);
    open_source(options).source->copy_image(0, image.data());
    CHECK(image == grey.pixels);
}

TEST_CASE("large JPEGs are decoded smaller, near the full resolution's result") {
    const DataFolder folder;
    const TestPicture picture = smooth_picture(480, 640, 3);
    folder.write("train/a/0.jpg", encode_jpeg(picture));
    SourceOptions options = options_of(folder, {24, 24, 3}, 27);
    options.num_classes = 1;
    PictureBytes image(24 * 24 * 3);
    const auto source = open_source(options).source;
    source->copy_image(0, image.data());
    CHECK(largest_difference(image, resize_and_crop(picture, 27, 24, 24)) <= 3);
}

TEST_CASE("random resized crops have the scale and ratio that are asked for") {
    AugmentOptions augment;
    augment.random_resized_crop = true;
    const SampleAugmenter augmenter(augment, 3, {224, 224, 3});
    double area = 0, log_ratio = 0;
    constexpr int kDraws = 20000;
    std::array<int, 4> corners{};
    for (int i = 0; i < kDraws; ++i) {
        const Box box = augmenter.random_resized_crop(i / 1000, i % 1000, 1000, 1000);
        REQUIRE(box.top >= 0);
        REQUIRE(box.left >= 0);
        REQUIRE(box.top + box.height <= 1000);
        REQUIRE(box.left + box.width <= 1000);
        const double share = static_cast<double>(box.height * box.width) / 1e6;
        const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
        REQUIRE(share > 0.079);
        REQUIRE(ratio > 0.745);
        REQUIRE(ratio < 1.342);
        area += share;
        log_ratio += std::log(ratio);
        ++corners[(box.top * 2 + box.height > 1000 ? 2u : 0u) + (box.left * 2 + box.width > 1000 ? 1u : 0u)];
    }
    // Crops that do not fit are drawn again, so the mean area of 0.54 falls a little; ratios stay symmetric.
    CHECK(area / kDraws > 0.47);
    CHECK(area / kDraws < 0.54);
    CHECK(std::abs(log_ratio / kDraws) < 0.01);
    for (const int count : corners) CHECK(std::abs(count - kDraws / 4) < 400);
    // What can never fit falls back to the middle of an allowed ratio.
    augment.crop_scale = {1, 1};
    const SampleAugmenter whole(augment, 3, {224, 224, 3});
    CHECK(whole.random_resized_crop(0, 0, 100, 1000) == Box{0, (1000 - 133) / 2, 100, 133});
    CHECK(whole.random_resized_crop(0, 0, 1000, 90) == Box{(1000 - 120) / 2, 0, 120, 90});
}

TEST_CASE("memory does not grow over the epochs") {
    const DataFolder folder;
    for (int i = 0; i < 16; ++i)
        folder.write("train/a/" + std::to_string(i),
                     encode_jpeg(smooth_picture(200 + i * 10, 400 - i * 10, 3), {.progressive = i % 2 == 0}));
    SourceOptions options = options_of(folder, {64, 64, 3});
    options.num_classes = 1;
    const auto source = open_source(options).source;
    StreamOptions stream;
    stream.augment = everything();
    stream.batching = {8, 1, false};
    stream.workers = 2;
    stream.end_epoch = 12;
    BatchStream batches(*source, stream);
    std::int64_t after_two = 0;
    for (NextBatch next = batches.next(); next.batch; next = batches.next())
        if (next.batch->epoch == 2 && next.batch->first == 0) after_two = resident_bytes();
    CHECK(resident_bytes() - after_two < 1 << 20);
}
