// Crop and flip against the obvious way: pad the whole image, cut it out, mirror it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/philox.h"
#include "dataset/augment.h"

using namespace mpt;

namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels random_image(const ImageGeometry& geometry) {
    RandomStream random(5, RandomPurpose::kSample, static_cast<std::uint64_t>(geometry.bytes()));
    Pixels image(static_cast<std::size_t>(geometry.bytes()));
    for (auto& pixel : image) pixel = static_cast<std::uint8_t>(1 + random.below(255));  // 0 is padding
    return image;
}

Pixels reference(const Augmentation& where, std::int64_t padding, const ImageGeometry& g,
                 const Pixels& image) {
    const std::int64_t padded_width = g.width + 2 * padding, padded_height = g.height + 2 * padding;
    Pixels padded(static_cast<std::size_t>(padded_height * padded_width * g.channels), 0);
    const auto in_padded = [&](std::int64_t y, std::int64_t x, std::int64_t c) -> std::uint8_t& {
        return padded[static_cast<std::size_t>((y * padded_width + x) * g.channels + c)];
    };
    const auto index = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        return static_cast<std::size_t>((y * g.width + x) * g.channels + c);
    };
    Pixels out(image.size());
    for (std::int64_t y = 0; y < g.height; ++y) {
        for (std::int64_t x = 0; x < g.width; ++x) {
            for (std::int64_t c = 0; c < g.channels; ++c) {
                in_padded(y + padding, x + padding, c) = image[index(y, x, c)];
            }
        }
    }
    for (std::int64_t y = 0; y < g.height; ++y) {
        for (std::int64_t x = 0; x < g.width; ++x) {
            const std::int64_t from = where.flip ? g.width - 1 - x : x;
            for (std::int64_t c = 0; c < g.channels; ++c) {
                out[index(y, x, c)] = in_padded(y + where.top, from + where.left, c);
            }
        }
    }
    return out;
}

}  // namespace

TEST_CASE("every crop place, mirrored or not, equals the reference") {
    const std::vector<ImageGeometry> geometries = {{1, 1, 1},  {5, 7, 1},   {3, 8, 1},  {28, 28, 1},
                                                   {9, 13, 3}, {32, 32, 3}, {6, 17, 4}, {4, 5, 2},
                                                   {2, 1, 3},  {2, 2, 3}};
    for (const auto& geometry : geometries) {
        const Pixels image = random_image(geometry);
        for (const std::int64_t padding : {0, 1, 4, 20}) {
            for (std::int64_t top = 0; top <= 2 * padding; top += padding == 20 ? 3 : 1) {
                for (std::int64_t left = 0; left <= 2 * padding; ++left) {
                    for (const bool flip : {false, true}) {
                        const Augmentation where{top, left, flip};
                        Pixels guarded(image.size() + 16, 0xAB);
                        apply_augmentation(where, padding, geometry, image.data(), guarded.data() + 8);
                        const auto begin = guarded.begin() + 8, end = guarded.end() - 8;
                        INFO(to_string(geometry) << " padding " << padding << " top " << top << " left "
                                                 << left << " flip " << flip);
                        REQUIRE(Pixels(begin, end) == reference(where, padding, geometry, image));
                        REQUIRE(Pixels(guarded.begin(), begin) == Pixels(8, 0xAB));
                        REQUIRE(Pixels(end, guarded.end()) == Pixels(8, 0xAB));
                    }
                }
            }
        }
    }
}

TEST_CASE("mirroring in place equals the reference") {
    Pixels scratch;
    for (const ImageGeometry& geometry :
         {ImageGeometry{3, 1, 3}, {4, 2, 3}, {5, 29, 3}, {6, 27, 1}, {3, 5, 4}}) {
        const Pixels image = random_image(geometry);
        Pixels guarded(image.size() + 16, 0xAB);
        std::copy(image.begin(), image.end(), guarded.begin() + 8);
        mirror(geometry, guarded.data() + 8, scratch);
        INFO(to_string(geometry));
        CHECK(Pixels(guarded.begin() + 8, guarded.end() - 8) == reference({0, 0, true}, 0, geometry, image));
        CHECK(Pixels(guarded.begin(), guarded.begin() + 8) == Pixels(8, 0xAB));
        CHECK(Pixels(guarded.end() - 8, guarded.end()) == Pixels(8, 0xAB));
    }
}

// Binomial and uniform laws, 20000 draws: bounds are five standard deviations.
TEST_CASE("crop places and flips are uniform") {
    const AugmentOptions options{4, true};
    std::vector<int> places(81);
    int flips = 0;
    const int draws = 20000;
    for (int i = 0; i < draws; ++i) {
        const Augmentation a = draw_augmentation(options, 3, i / 1000, i % 1000);
        REQUIRE(a.top >= 0);
        REQUIRE(a.top <= 8);
        REQUIRE(a.left >= 0);
        REQUIRE(a.left <= 8);
        ++places[static_cast<std::size_t>(a.top * 9 + a.left)];
        flips += a.flip;
    }
    CHECK(flips == Approx(10000).margin(5 * 70.7));
    for (const int count : places) CHECK(count == Approx(draws / 81.0).margin(5 * 15.7));
}

TEST_CASE("an augmentation depends on seed, epoch and sample, not on the other option") {
    const auto same = [](const Augmentation& a, const Augmentation& b) {
        return a.top == b.top && a.left == b.left && a.flip == b.flip;
    };
    int other_seed = 0, other_epoch = 0, other_sample = 0;
    for (int i = 0; i < 100; ++i) {
        const Augmentation a = draw_augmentation({4, true}, 1, 2, i);
        const Augmentation crop = draw_augmentation({4, false}, 1, 2, i);
        const Augmentation flip = draw_augmentation({0, true}, 1, 2, i);
        CHECK(same(a, draw_augmentation({4, true}, 1, 2, i)));
        CHECK((crop.top == a.top && crop.left == a.left && !crop.flip));
        CHECK((flip.top == 0 && flip.left == 0 && flip.flip == a.flip));
        other_seed += same(a, draw_augmentation({4, true}, 2, 2, i));
        other_epoch += same(a, draw_augmentation({4, true}, 1, 3, i));
        other_sample += same(a, draw_augmentation({4, true}, 1, 2, i + 1));
    }
    // By chance one in 162.
    CHECK(other_seed < 8);
    CHECK(other_epoch < 8);
    CHECK(other_sample < 8);
}
