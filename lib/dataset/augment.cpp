#include "dataset/augment.h"

#include <algorithm>
#include <cstring>

#include "core/philox.h"

namespace mpt {
namespace {

// Mirrors `pixels` >= 1 pixels of `channels` bytes.
void copy_mirrored(const std::uint8_t* in, std::int64_t pixels, std::int64_t channels, std::uint8_t* out) {
    if (channels == 1) {
        std::int64_t i = 0;
        for (; i + 8 <= pixels; i += 8) {
            std::uint64_t eight = 0;
            std::memcpy(&eight, in + i, 8);
            eight = __builtin_bswap64(eight);
            std::memcpy(out + pixels - i - 8, &eight, 8);
        }
        for (; i < pixels; ++i) out[pixels - 1 - i] = in[i];
    } else if (channels == 3) {
        // Four bytes at a time: the fourth is overwritten by the next pixel.
        std::memcpy(out, in + 3 * (pixels - 1), 3);
        for (std::int64_t i = 1; i + 1 < pixels; ++i) std::memcpy(out + 3 * i, in + 3 * (pixels - 1 - i), 4);
        std::memcpy(out + 3 * (pixels - 1), in, 3);
    } else {
        for (std::int64_t i = 0; i < pixels; ++i) {
            std::copy_n(in + i * channels, channels, out + (pixels - 1 - i) * channels);
        }
    }
}

}  // namespace

void mirror(const ImageGeometry& geometry, std::uint8_t* image, std::vector<std::uint8_t>& scratch) {
    const std::int64_t row_bytes = geometry.width * geometry.channels;
    scratch.resize(static_cast<std::size_t>(row_bytes));
    for (std::int64_t y = 0; y < geometry.height; ++y, image += row_bytes) {
        std::memcpy(scratch.data(), image, scratch.size());
        copy_mirrored(scratch.data(), geometry.width, geometry.channels, image);
    }
}

Augmentation draw_augmentation(const AugmentOptions& options, std::uint64_t seed, std::int64_t epoch,
                               std::int64_t sample) {
    RandomStream random(seed, RandomPurpose::kAugment, static_cast<std::uint64_t>(epoch),
                        static_cast<std::uint64_t>(sample));
    const std::uint64_t places = static_cast<std::uint64_t>(2 * options.crop_padding + 1);
    // 32 bits each, so that one Philox block serves a sample.
    const auto place = [&] { return static_cast<std::int64_t>((random.next_u32() * places) >> 32); };
    Augmentation augmentation;
    augmentation.top = place();
    augmentation.left = place();
    const bool heads = (random.next_u32() >> 31) != 0;
    augmentation.flip = options.horizontal_flip && heads;
    return augmentation;
}

void apply_augmentation(const Augmentation& augmentation, std::int64_t crop_padding,
                        const ImageGeometry& geometry, const std::uint8_t* in, std::uint8_t* out) {
    const std::int64_t channels = geometry.channels, row_bytes = geometry.width * channels;
    const std::int64_t shift_y = augmentation.top - crop_padding, shift_x = augmentation.left - crop_padding;
    // Columns of the crop that lie inside the image; empty when the padding is wider than the image.
    const std::int64_t begin = std::clamp<std::int64_t>(-shift_x, 0, geometry.width);
    const std::int64_t end = std::clamp<std::int64_t>(geometry.width - shift_x, begin, geometry.width);
    for (std::int64_t y = 0; y < geometry.height; ++y, out += row_bytes) {
        const std::int64_t from = y + shift_y;
        if (from < 0 || from >= geometry.height || begin == end) {
            std::memset(out, 0, static_cast<std::size_t>(row_bytes));
            continue;
        }
        const std::uint8_t* pixels = in + from * row_bytes + (begin + shift_x) * channels;
        const std::int64_t left = augmentation.flip ? geometry.width - end : begin;
        const std::int64_t inside = end - begin, right = geometry.width - left - inside;
        std::memset(out, 0, static_cast<std::size_t>(left * channels));
        if (augmentation.flip) {
            copy_mirrored(pixels, inside, channels, out + left * channels);  // inside is not 0 here
        } else {
            std::memcpy(out + left * channels, pixels, static_cast<std::size_t>(inside * channels));
        }
        std::memset(out + (left + inside) * channels, 0, static_cast<std::size_t>(right * channels));
    }
}

}  // namespace mpt
