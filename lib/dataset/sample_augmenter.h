// The augmentations of one sample in their order: random resized crop, crop with padding, flip, colour
// jitter, RandAugment, random erasing. Each is drawn from (seed, epoch, sample) alone.
#pragma once

#include <cstdint>
#include <vector>

#include "dataset/batch_stream.h"
#include "dataset/pictures/picture.h"

namespace mpt {

class SampleAugmenter {
  public:
    SampleAugmenter(const AugmentOptions& options, std::uint64_t seed, const ImageGeometry& geometry);

    const AugmentOptions& options() const { return options_; }
    // The part of a picture of this size that is resized to the geometry.
    Box random_resized_crop(std::int64_t epoch, std::int64_t sample, std::int64_t height,
                            std::int64_t width) const;
    // Where the picture of the geometry must be put before finish(): `out`, or a buffer of its own.
    std::uint8_t* input(std::uint8_t* out);
    void finish(std::int64_t epoch, std::int64_t sample, std::uint8_t* out);

  private:
    void jitter(std::int64_t epoch, std::int64_t sample, std::uint8_t* out);
    void rand_augment(std::int64_t epoch, std::int64_t sample, std::uint8_t* out);
    void erase(std::int64_t epoch, std::int64_t sample, std::uint8_t* out) const;
    bool moves() const { return options_.crop_padding > 0; }

    AugmentOptions options_;
    std::uint64_t seed_;
    ImageGeometry geometry_;
    ByteBuffer input_;
    std::vector<std::uint8_t> scratch_;
};

}  // namespace mpt
