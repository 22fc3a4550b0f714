// mixup and cutmix: pixels and targets against torchvision's, draws against the Beta distribution's closed
// forms, batches against mixing made by hand, for any number of workers and micro-batches.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "dataset/dataset.h"
#include "dataset/mixing.h"
#include "support/golden.h"

using namespace mpt;
using namespace mpt::test;

namespace {

constexpr ImageGeometry kGeometry{9, 12, 3};
constexpr std::int64_t kBatch = 4, kClasses = 3;
constexpr std::int32_t kLabels[kBatch] = {2, 0, 0, 1};

// As in scripts/golden/make_mixing_golden.py.
std::vector<std::uint8_t> golden_images() {
    std::vector<std::uint8_t> pixels;
    for (std::int64_t n = 0; n < kBatch; ++n)
        for (std::int64_t y = 0; y < kGeometry.height; ++y)
            for (std::int64_t x = 0; x < kGeometry.width; ++x)
                for (std::int64_t c = 0; c < 3; ++c)
                    pixels.push_back(static_cast<std::uint8_t>(
                        (n * 67 + y * y * 13 + x * 29 + x * y * 7 + c * 101) % 256));
    return pixels;
}

void check_like_torchvision(const Mixing& mixing, const nlohmann::json& expected) {
    const std::vector<std::uint8_t> before = golden_images();
    const std::vector<double> pixels = expected.at("pixels"), targets = expected.at("targets");
    const std::int64_t bytes = kGeometry.bytes();
    for (std::int64_t n = 0; n < kBatch; ++n) {
        const std::int64_t other = (n + kBatch - 1) % kBatch;
        std::vector<std::uint8_t> image(before.begin() + n * bytes, before.begin() + (n + 1) * bytes);
        mix(mixing, kGeometry, before.data() + other * bytes, image.data());
        for (std::int64_t i = 0; i < bytes; ++i) {
            const double exact = pixels[static_cast<std::size_t>(n * bytes + i)];
            // Rounded to 8 bits, by a weight that was rounded to 15.
            CHECK(std::abs(image[static_cast<std::size_t>(i)] - exact) <= 0.5 + 255.0 / 65536 + 1e-3);
        }
        for (std::int64_t c = 0; c < kClasses; ++c) {
            const double target =
                mixing.share * (c == kLabels[n] ? 1 : 0) + (1 - mixing.share) * (c == kLabels[other] ? 1 : 0);
            CHECK(target == Approx(targets[static_cast<std::size_t>(n * kClasses + c)]).margin(1.0 / 32768));
        }
    }
}

std::unique_ptr<ImageSource> small_source(std::int64_t samples) {
    SourceOptions options;
    options.type = SourceType::kSynthetic;
    options.geometry = {6, 9, 3};
    options.num_classes = 7;
    options.synthetic_samples = samples;
    return open_source(options).source;
}

StreamOptions options_of(double mixup, double cutmix) {
    StreamOptions options;
    options.seed = 5;
    options.augment.crop_padding = 1;
    options.augment.horizontal_flip = true;
    options.augment.mixup = mixup;
    options.augment.cutmix = cutmix;
    options.batching = {8, 1, false};
    options.end_epoch = 2;
    options.workers = 0;
    return options;
}

// All samples of a stream, one after the other, in the order of their epochs.
struct Samples {
    std::vector<std::uint8_t> images;
    std::vector<std::int32_t> labels, second;
    std::vector<float> shares;
    std::vector<std::int64_t> offsets, epochs;  // of the update each belongs to
    bool operator==(const Samples&) const = default;
};

Samples samples_of(const ImageSource& source, const StreamOptions& options) {
    BatchStream stream(source, options);
    Samples all;
    while (const Batch* b = stream.next().batch) {
        all.images.insert(all.images.end(), b->images.data(),
                          b->images.data() + b->count * source.geometry().bytes());
        all.labels.insert(all.labels.end(), b->labels.begin(), b->labels.end());
        all.second.insert(all.second.end(), b->second_labels.begin(), b->second_labels.end());
        all.shares.insert(all.shares.end(), b->label_shares.begin(), b->label_shares.end());
        all.offsets.insert(all.offsets.end(), static_cast<std::size_t>(b->count), b->window_offset);
        all.epochs.insert(all.epochs.end(), static_cast<std::size_t>(b->count), b->epoch);
    }
    return all;
}

}  // namespace

TEST_CASE("mixup and cutmix have torchvision's pixels and targets") {
    const nlohmann::json values = golden("mixing");
    for (const auto& expected : values.at("mixup"))
        check_like_torchvision(mixup_of(expected.at("share")), expected);
    CHECK(values.at("cutmix").size() == 5);
    for (const auto& expected : values.at("cutmix")) {
        const std::vector<std::int64_t> place = expected.at("place");
        check_like_torchvision(cutmix_of(expected.at("share"), place[1], place[0], kGeometry), expected);
    }
}

TEST_CASE("weights are those of a Beta distribution") {
    constexpr int kDraws = 40000;
    for (const double alpha : {0.1, 0.2, 0.5, 0.8, 1.0, 4.0}) {
        std::vector<double> draws;
        for (std::uint64_t i = 0; i < kDraws; ++i) {
            RandomStream random(3, RandomPurpose::kSample, i);
            draws.push_back(draw_beta(random, alpha));
        }
        double sum = 0, squares = 0, fourth = 0;
        for (const double x : draws) {
            REQUIRE((x >= 0 && x <= 1));
            sum += x - 0.5;
            squares += (x - 0.5) * (x - 0.5);
            fourth += std::pow(x - 0.5, 4);
        }
        INFO("alpha " << alpha);
        const double variance = 1 / (4 * (2 * alpha + 1));
        const double fourth_moment = 3.0 / 16 / ((2 * alpha + 1) * (2 * alpha + 3));
        // Five standard errors.
        CHECK(std::abs(sum / kDraws) < 5 * std::sqrt(variance / kDraws));
        CHECK(std::abs(squares / kDraws - variance) <
              5 * std::sqrt((fourth_moment - variance * variance) / kDraws));
        CHECK(fourth / kDraws == Approx(fourth_moment).epsilon(0.05));
        if (alpha == 1.0) {  // uniform: the greatest distance of the distribution functions, Kolmogorov
            std::sort(draws.begin(), draws.end());
            double distance = 0;
            for (int i = 0; i < kDraws; ++i)
                distance =
                    std::max(distance, std::abs(draws[static_cast<std::size_t>(i)] - (i + 0.5) / kDraws));
            CHECK(distance < 1.95 / std::sqrt(kDraws));  // 0.1 %
        }
    }
}

TEST_CASE("each image is mixed with the one before it in its update") {
    const auto source = small_source(43);
    const std::int64_t bytes = source->geometry().bytes();
    const Samples plain = samples_of(*source, options_of(0, 0));
    CHECK(plain.shares.empty());
    int num_mixup = 0, num_cutmix = 0;
    for (const auto& [mixup, cutmix] : {std::pair{0.4, 0.0}, {0.0, 1.0}, {0.4, 1.0}}) {
        const StreamOptions options = options_of(mixup, cutmix);
        const Samples mixed = samples_of(*source, options);
        REQUIRE(mixed.shares.size() == 86);
        for (std::size_t i = 0; i < 86; ++i) {
            const Mixing mixing = draw_mixing(options.augment, options.seed, plain.epochs[i],
                                              plain.offsets[i], source->geometry());
            const bool is_first = i == 0 || plain.offsets[i - 1] != plain.offsets[i];
            std::size_t other = i - 1;
            if (is_first)
                for (other = i; other + 1 < 86 && plain.offsets[other + 1] == plain.offsets[i];) ++other;
            std::vector<std::uint8_t> image(plain.images.begin() + static_cast<std::int64_t>(i) * bytes,
                                            plain.images.begin() + static_cast<std::int64_t>(i + 1) * bytes);
            mix(mixing, source->geometry(), plain.images.data() + static_cast<std::int64_t>(other) * bytes,
                image.data());
            CHECK(std::memcmp(image.data(), mixed.images.data() + static_cast<std::int64_t>(i) * bytes,
                              image.size()) == 0);
            const bool own = mixing.share >= 0.5;
            CHECK(mixed.labels[i] == plain.labels[own ? i : other]);
            CHECK(mixed.second[i] == plain.labels[own ? other : i]);
            CHECK(mixed.shares[i] == static_cast<float>(own ? mixing.share : 1 - mixing.share));
            ++(mixing.kind == Mixing::Kind::kMixup ? num_mixup : num_cutmix);
        }
    }
    CHECK(num_mixup > 86);
    CHECK(num_cutmix > 86);
}

TEST_CASE("mixed batches do not depend on workers, prefetching, micro-batches or the start") {
    const auto source = small_source(43);
    const StreamOptions options = options_of(0.4, 1);
    const Samples expected = samples_of(*source, options);
    for (const int workers : {1, 3})
        for (const std::int64_t accumulate : {1, 2, 4, 8}) {
            StreamOptions other = options;
            other.workers = workers;
            other.prefetch = workers;
            other.batching.accumulate = accumulate;
            CHECK(samples_of(*source, other) == expected);
        }
    StreamOptions late = options;
    late.start = {0, 16};
    const Samples rest = samples_of(*source, late);
    CHECK(std::equal(rest.images.begin(), rest.images.end(),
                     expected.images.begin() + 16 * source->geometry().bytes(), expected.images.end()));
    CHECK(std::equal(rest.shares.begin(), rest.shares.end(), expected.shares.begin() + 16,
                     expected.shares.end()));
    StreamOptions other_seed = options;
    other_seed.seed = 6;
    CHECK(samples_of(*source, other_seed).shares != expected.shares);
}
