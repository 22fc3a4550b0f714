#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/philox.h"
#include "dataset/image_readers.h"
#include "dataset/memory_images.h"

namespace mpt {
namespace {

// No more pixels are made than this; further samples repeat the images.
constexpr std::int64_t kMaxPoolBytes = 32 << 20;
constexpr int kWaveHeight = 40;   // of the class pattern, of 255
constexpr int kNoiseHeight = 64;  // peak to peak

// A triangle wave of period 2^16, between -kWaveHeight and kWaveHeight.
int triangle(std::uint32_t phase) {
    const int t = static_cast<int>(phase & 0xffff);
    const int up = t < 0x8000 ? t : 0xffff - t;
    return (up * 2 * kWaveHeight >> 15) - kWaveHeight;
}

// One plane wave for each channel: phase at the corner and its steps down and to the right.
struct Wave {
    std::uint32_t phase, step_y, step_x;
};

std::vector<Wave> waves_of_class(std::uint64_t seed, std::int64_t label, const ImageGeometry& geometry) {
    RandomStream random(seed, RandomPurpose::kSynthetic, static_cast<std::uint64_t>(label));
    std::vector<Wave> waves(static_cast<std::size_t>(geometry.channels));
    for (Wave& wave : waves) {
        wave.phase = random.next_u32() & 0xffff;
        // Up to three periods along each side.
        wave.step_y = static_cast<std::uint32_t>(random.below(3 * 0x10000) /
                                                 static_cast<std::uint64_t>(geometry.height));
        wave.step_x = static_cast<std::uint32_t>(random.below(3 * 0x10000) /
                                                 static_cast<std::uint64_t>(geometry.width));
    }
    return waves;
}

void draw_image(const std::vector<Wave>& waves, const ImageGeometry& geometry, RandomStream& random,
                std::uint8_t* out) {
    const int brightness = static_cast<int>(random.below(17)) - 8;
    std::uint32_t bits = 0;
    int bytes_left = 0;
    for (std::uint32_t y = 0; y < static_cast<std::uint32_t>(geometry.height); ++y) {
        for (std::uint32_t x = 0; x < static_cast<std::uint32_t>(geometry.width); ++x) {
            for (const Wave& wave : waves) {
                if (bytes_left == 0) {
                    bits = random.next_u32();
                    bytes_left = 4;
                }
                const int noise = static_cast<int>(bits & 0xff) * kNoiseHeight / 256 - kNoiseHeight / 2;
                bits >>= 8;
                --bytes_left;
                const int pixel =
                    128 + brightness + triangle(wave.phase + y * wave.step_y + x * wave.step_x) + noise;
                *out++ = static_cast<std::uint8_t>(std::clamp(pixel, 0, 255));
            }
        }
    }
}

}  // namespace

std::unique_ptr<ImageSource> make_synthetic(const SourceOptions& options) {
    const ImageGeometry geometry = options.geometry;
    if (geometry.height < 1 || geometry.width < 1 || geometry.channels < 1 || geometry.height > 16384 ||
        geometry.width > 16384 || geometry.channels > 64) {
        throw Error(ExitCode::kData, "synthetic images of " + to_string(geometry) +
                                         " cannot be made: sides are 1..16384, channels 1..64");
    }
    if (options.synthetic_samples < 1 || options.synthetic_samples > 0x7fffffff) {
        throw Error(ExitCode::kData, "synthetic data has " + std::to_string(options.synthetic_samples) +
                                         " samples, allowed are 1..2147483647");
    }
    const std::int64_t stored =
        std::clamp<std::int64_t>(kMaxPoolBytes / geometry.bytes(), 1, options.synthetic_samples);
    ByteBuffer images(static_cast<std::size_t>(stored * geometry.bytes()));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(stored));
    for (std::int64_t i = 0; i < stored; ++i) {
        // Fewer images than classes: spread over the range of labels.
        const std::int64_t label =
            stored >= options.num_classes ? i % options.num_classes : i * options.num_classes / stored;
        labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(label);
        const std::uint64_t split = options.split == Split::kTrain ? 1 : 2;
        RandomStream noise(options.seed, RandomPurpose::kSynthetic, split,
                           (std::uint64_t{1} << 63) | static_cast<std::uint64_t>(i));
        draw_image(waves_of_class(options.seed, label, geometry), geometry, noise,
                   images.data() + i * geometry.bytes());
    }
    ImageSetInfo info;
    info.origin = "synthetic";
    info.geometry = geometry;
    info.num_samples = options.synthetic_samples;
    info.num_classes = options.num_classes;
    return keep_in_memory(std::move(info), std::move(images), std::move(labels), options.limit);
}

}  // namespace mpt
