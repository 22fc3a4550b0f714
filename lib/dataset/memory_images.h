// A data set whose pixels are all in memory. Synthetic sets store fewer images than they have samples and
// repeat them.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/error.h"
#include "dataset/byte_buffer.h"
#include "dataset/image_source.h"

namespace mpt {

class MemoryImages final : public ImageSource {
  public:
    // images: u8 (labels.size(), H, W, C).
    MemoryImages(ImageSetInfo info, ByteBuffer images, std::vector<std::int32_t> labels)
        : ImageSource(std::move(info)), images_(std::move(images)), labels_(std::move(labels)) {
        image_bytes_ = static_cast<std::size_t>(geometry().bytes());
        MPT_CHECK(!labels_.empty() && images_.size() == labels_.size() * image_bytes_);
    }

    void copy_image(std::int64_t index, std::uint8_t* out) const override {
        std::memcpy(out, images_.data() + stored(index) * image_bytes_, image_bytes_);
    }
    std::int32_t label(std::int64_t index) const override { return labels_[stored(index)]; }
    std::int64_t memory_bytes() const override {
        return static_cast<std::int64_t>(images_.size() + labels_.size() * sizeof(std::int32_t));
    }

  private:
    std::size_t stored(std::int64_t index) const {
        MPT_CHECK(index >= 0 && index < num_samples());
        return static_cast<std::size_t>(index) % labels_.size();
    }

    ByteBuffer images_;
    std::vector<std::int32_t> labels_;
    std::size_t image_bytes_;
};

// Keeps the first `limit` samples (0: all), and gives back the memory of the others.
inline std::unique_ptr<ImageSource> keep_in_memory(ImageSetInfo info, ByteBuffer images,
                                                   std::vector<std::int32_t> labels, std::int64_t limit) {
    if (limit > 0) info.num_samples = std::min(info.num_samples, limit);
    const std::size_t kept = std::min(labels.size(), static_cast<std::size_t>(info.num_samples));
    if (kept < labels.size()) {
        ByteBuffer first(kept * static_cast<std::size_t>(info.geometry.bytes()));
        std::memcpy(first.data(), images.data(), first.size());
        images = std::move(first);
        labels.resize(kept);
        labels.shrink_to_fit();
    }
    return std::make_unique<MemoryImages>(std::move(info), std::move(images), std::move(labels));
}

}  // namespace mpt
