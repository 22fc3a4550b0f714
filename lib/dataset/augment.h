// Random crop with zero padding and horizontal flip of one u8 image.
#pragma once

#include <cstdint>
#include <vector>

#include "dataset/batch_stream.h"

namespace mpt {

// Where the crop lies in the padded image (0..2 * crop_padding) and whether it is mirrored afterwards.
struct Augmentation {
    std::int64_t top = 0, left = 0;
    bool flip = false;
};

// A function of (seed, epoch, sample) alone; an option that is off draws its numbers, too.
Augmentation draw_augmentation(const AugmentOptions& options, std::uint64_t seed, std::int64_t epoch,
                               std::int64_t sample);

// Mirrors an image in its place.
void mirror(const ImageGeometry& geometry, std::uint8_t* image, std::vector<std::uint8_t>& scratch);

// in, out: (H, W, C), not overlapping.
void apply_augmentation(const Augmentation& augmentation, std::int64_t crop_padding,
                        const ImageGeometry& geometry, const std::uint8_t* in, std::uint8_t* out);

}  // namespace mpt
