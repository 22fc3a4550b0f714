#include "dataset/mixing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/error.h"

namespace mpt {
namespace {

constexpr int kShareBits = 15;
constexpr std::uint32_t kWhole = 1u << kShareBits;

// In (0, 1), so that its logarithm is finite.
double open_uniform(RandomStream& random) {
    return (static_cast<double>(random.next_u32()) + 0.5) * 0x1p-32;
}

}  // namespace

bool mixes(const AugmentOptions& options) {
    return options.mixup > 0 || options.cutmix > 0;
}

// Up to 1/2: Jöhnk (1964), with logarithms, as powers of small numbers vanish. Above: Ulrich (1984), who has
// a closed form where both parameters are equal.
double draw_beta(RandomStream& random, double alpha) {
    MPT_CHECK(alpha > 0);
    if (alpha > 0.5) {
        const double u = open_uniform(random), v = open_uniform(random);
        const double radius = std::sqrt(1 - std::pow(u, 2 / (2 * alpha - 1)));
        return 0.5 + 0.5 * radius * std::cos(2 * std::numbers::pi * v);
    }
    for (;;) {
        const double x = std::log(open_uniform(random)) / alpha;
        const double y = std::log(open_uniform(random)) / alpha;
        const double sum = std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
        if (sum <= 0) return std::exp(x - sum);
    }
}

Mixing mixup_of(double share) {
    return {Mixing::Kind::kMixup, std::nearbyint(share * kWhole) / kWhole, {}};
}

Mixing cutmix_of(double share, std::int64_t y, std::int64_t x, const ImageGeometry& g) {
    const double side = 0.5 * std::sqrt(1 - share);
    const auto half_width = static_cast<std::int64_t>(side * static_cast<double>(g.width));
    const auto half_height = static_cast<std::int64_t>(side * static_cast<double>(g.height));
    Mixing mixing{Mixing::Kind::kCutmix, 1, {}};
    mixing.box.left = std::max<std::int64_t>(x - half_width, 0);
    mixing.box.top = std::max<std::int64_t>(y - half_height, 0);
    mixing.box.width = std::min(x + half_width, g.width) - mixing.box.left;
    mixing.box.height = std::min(y + half_height, g.height) - mixing.box.top;
    mixing.share = 1 - static_cast<double>(mixing.box.width * mixing.box.height) /
                           static_cast<double>(g.width * g.height);
    return mixing;
}

Mixing draw_mixing(const AugmentOptions& options, std::uint64_t seed, std::int64_t epoch, std::int64_t offset,
                   const ImageGeometry& g) {
    if (!mixes(options)) return {};
    constexpr std::uint64_t kPart = std::uint64_t{5} << 56;  // beside those of sample_augmenter.cpp
    RandomStream random(seed, RandomPurpose::kAugment, static_cast<std::uint64_t>(epoch),
                        static_cast<std::uint64_t>(offset) ^ kPart);
    const bool second = random.below(2) != 0;
    const bool cuts = options.cutmix > 0 && (second || options.mixup == 0);
    const double share = draw_beta(random, cuts ? options.cutmix : options.mixup);
    if (!cuts) return mixup_of(share);
    const auto x = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(g.width)));
    const auto y = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(g.height)));
    return cutmix_of(share, y, x, g);
}

void mix(const Mixing& mixing, const ImageGeometry& g, const std::uint8_t* other, std::uint8_t* image) {
    if (mixing.kind == Mixing::Kind::kNone) return;
    if (mixing.kind == Mixing::Kind::kCutmix) {
        const Box& box = mixing.box;
        for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
            const std::int64_t at = (y * g.width + box.left) * g.channels;
            std::memcpy(image + at, other + at, static_cast<std::size_t>(box.width * g.channels));
        }
        return;
    }
    const auto own = static_cast<std::uint32_t>(mixing.share * kWhole);
    const std::uint32_t rest = kWhole - own;
    const std::int64_t bytes = g.bytes();
    for (std::int64_t i = 0; i < bytes; ++i)
        image[i] = static_cast<std::uint8_t>((own * image[i] + rest * other[i] + kWhole / 2) >> kShareBits);
}

}  // namespace mpt
