// mixup and cutmix as torchvision defines them: each image of an update is mixed with the one before it, the
// first with the last, all with one weight. What is drawn depends on (seed, epoch, place of the update in the
// epoch) alone; micro-batches and workers change nothing.
#pragma once

#include <cstdint>

#include "core/philox.h"
#include "dataset/batch_stream.h"
#include "dataset/pictures/picture.h"

namespace mpt {

struct Mixing {
    enum class Kind { kNone, kMixup, kCutmix } kind = Kind::kNone;
    double share = 1;  // of the image itself, in its target
    Box box;           // cutmix: what comes from the other image
};

bool mixes(const AugmentOptions& options);

// `offset`: of the update's first sample in the epoch. With both switched on, each comes half of the times.
Mixing draw_mixing(const AugmentOptions& options, std::uint64_t seed, std::int64_t epoch, std::int64_t offset,
                   const ImageGeometry& geometry);

// From Beta(alpha, alpha).
double draw_beta(RandomStream& random, double alpha);
// The weight is rounded to 1/32768, so that pixels and targets have the same one.
Mixing mixup_of(double share);
// A box around (y, x) of the area 1 - share, cut off at the borders; the share becomes what is left.
Mixing cutmix_of(double share, std::int64_t y, std::int64_t x, const ImageGeometry& geometry);

// u8 images (H, W, C); values are rounded to the nearest.
void mix(const Mixing& mixing, const ImageGeometry& geometry, const std::uint8_t* other, std::uint8_t* image);

}  // namespace mpt
