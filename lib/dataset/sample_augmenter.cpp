#include "dataset/sample_augmenter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/philox.h"
#include "dataset/augment.h"
#include "dataset/pictures/pixel_ops.h"

namespace mpt {
namespace {

// Each augmentation has numbers of its own, so that switching one on leaves the others as they were. Part 0
// is crop and flip.
enum class Part : std::uint64_t { kResizedCrop = 1, kJitter = 2, kRandAugment = 3, kErasing = 4 };

RandomStream draw(std::uint64_t seed, std::int64_t epoch, std::int64_t sample, Part part) {
    // A sample's number ends below bit 31, an epoch's begins at bit 32.
    return {seed, RandomPurpose::kAugment, static_cast<std::uint64_t>(epoch),
            static_cast<std::uint64_t>(sample) ^ static_cast<std::uint64_t>(part) << 56};
}

double between(RandomStream& random, double low, double high) {
    return low + (high - low) * static_cast<double>(random.uniform());
}

std::int64_t at_most(RandomStream& random, std::int64_t most) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most) + 1));
}

constexpr int kTries = 10;  // torchvision's, before it falls back

// The largest part in the middle whose ratio is allowed.
Box central_crop(std::int64_t height, std::int64_t width, const std::array<double, 2>& ratio) {
    const double h = static_cast<double>(height), w = static_cast<double>(width);
    Box box{0, 0, height, width};
    if (w / h < ratio[0]) box.height = std::clamp<std::int64_t>(std::llround(w / ratio[0]), 1, height);
    if (w / h > ratio[1]) box.width = std::clamp<std::int64_t>(std::llround(h * ratio[1]), 1, width);
    box.top = (height - box.height) / 2;
    box.left = (width - box.width) / 2;
    return box;
}

}  // namespace

SampleAugmenter::SampleAugmenter(const AugmentOptions& options, std::uint64_t seed,
                                 const ImageGeometry& geometry)
    : options_(options), seed_(seed), geometry_(geometry) {
    if (moves()) input_ = ByteBuffer(static_cast<std::size_t>(geometry.bytes()));
}

Box SampleAugmenter::random_resized_crop(std::int64_t epoch, std::int64_t sample, std::int64_t height,
                                         std::int64_t width) const {
    RandomStream random = draw(seed_, epoch, sample, Part::kResizedCrop);
    const double area = static_cast<double>(height) * static_cast<double>(width);
    for (int i = 0; i < kTries; ++i) {
        const double target = area * between(random, options_.crop_scale[0], options_.crop_scale[1]);
        const double ratio =
            std::exp(between(random, std::log(options_.crop_ratio[0]), std::log(options_.crop_ratio[1])));
        const std::int64_t w = std::llround(std::sqrt(target * ratio));
        const std::int64_t h = std::llround(std::sqrt(target / ratio));
        if (w < 1 || h < 1 || w > width || h > height) continue;
        const std::int64_t top = at_most(random, height - h);
        return {top, at_most(random, width - w), h, w};
    }
    return central_crop(height, width, options_.crop_ratio);
}

std::uint8_t* SampleAugmenter::input(std::uint8_t* out) {
    return moves() ? input_.data() : out;
}

void SampleAugmenter::finish(std::int64_t epoch, std::int64_t sample, std::uint8_t* out) {
    const Augmentation augmentation = draw_augmentation(options_, seed_, epoch, sample);
    if (moves())
        apply_augmentation(augmentation, options_.crop_padding, geometry_, input_.data(), out);
    else if (augmentation.flip)
        mirror(geometry_, out, scratch_);
    const auto& strength = options_.color_jitter;
    if (std::any_of(strength.begin(), strength.end(), [](double s) { return s > 0; }))
        jitter(epoch, sample, out);
    if (options_.rand_augment_magnitude > 0) rand_augment(epoch, sample, out);
    if (options_.random_erasing > 0) erase(epoch, sample, out);
}

// Brightness, contrast, saturation and hue in an order drawn at random.
void SampleAugmenter::jitter(std::int64_t epoch, std::int64_t sample, std::uint8_t* out) {
    RandomStream random = draw(seed_, epoch, sample, Part::kJitter);
    std::array<std::size_t, 4> order = {0, 1, 2, 3};
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::array<double, 4> amount{};
    for (std::size_t i = 0; i < amount.size(); ++i) {
        const double strength = options_.color_jitter[i];
        const double low = i == 3 ? -strength : std::max(1 - strength, 0.0);
        amount[i] = between(random, low, i == 3 ? strength : 1 + strength);
    }
    constexpr std::array<void (*)(const PixelImage&, double), 4> kOps = {adjust_brightness, adjust_contrast,
                                                                         adjust_saturation, adjust_hue};
    const PixelImage image{out, geometry_, &scratch_};
    for (const std::size_t i : order)
        if (options_.color_jitter[i] > 0) kOps[i](image, amount[i]);
}

void SampleAugmenter::rand_augment(std::int64_t epoch, std::int64_t sample, std::uint8_t* out) {
    RandomStream random = draw(seed_, epoch, sample, Part::kRandAugment);
    const PixelImage image{out, geometry_, &scratch_};
    for (std::int64_t i = 0; i < options_.rand_augment_ops; ++i) {
        const int op = static_cast<int>(random.below(kNumRandAugmentOps));
        const bool minus = random.below(2) != 0;
        apply_rand_augment(image, op, static_cast<int>(options_.rand_augment_magnitude),
                           minus && is_signed(op) ? Sign::kMinus : Sign::kPlus);
    }
}

// A rectangle of 2..33 % of the area and a ratio of 0.3..3.3 becomes the given colour.
void SampleAugmenter::erase(std::int64_t epoch, std::int64_t sample, std::uint8_t* out) const {
    constexpr double kLeast = 0.02, kMost = 0.33, kNarrowest = 0.3, kWidest = 3.3;
    RandomStream random = draw(seed_, epoch, sample, Part::kErasing);
    if (static_cast<double>(random.uniform()) >= options_.random_erasing) return;
    const double area = static_cast<double>(geometry_.height * geometry_.width);
    for (int i = 0; i < kTries; ++i) {
        const double target = area * between(random, kLeast, kMost);
        const double ratio = std::exp(between(random, std::log(kNarrowest), std::log(kWidest)));
        const std::int64_t h = std::llround(std::sqrt(target * ratio));
        const std::int64_t w = std::llround(std::sqrt(target / ratio));
        if (h < 1 || w < 1 || h >= geometry_.height || w >= geometry_.width) continue;
        const std::int64_t top = at_most(random, geometry_.height - h);
        const std::int64_t left = at_most(random, geometry_.width - w);
        for (std::int64_t y = top; y < top + h; ++y) {
            std::uint8_t* pixel = out + (y * geometry_.width + left) * geometry_.channels;
            for (std::int64_t x = 0; x < w * geometry_.channels; ++x)
                pixel[x] = options_.erase_colour[static_cast<std::size_t>(x % geometry_.channels) %
                                                 options_.erase_colour.size()];
        }
        return;
    }
}

}  // namespace mpt
