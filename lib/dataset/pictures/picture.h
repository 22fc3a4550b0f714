// Decoded pixels: u8, rows of interleaved channels.
#pragma once

#include <cstdint>

#include "dataset/byte_buffer.h"

namespace mpt {

// Whole pixels of a picture.
struct Box {
    std::int64_t top = 0, left = 0, height = 0, width = 0;
    bool operator==(const Box&) const = default;
};

// An area whose edges may lie inside pixels.
struct Area {
    double top = 0, left = 0, height = 0, width = 0;
};

struct PictureView {
    const std::uint8_t* pixels = nullptr;
    std::int64_t height = 0, width = 0, channels = 0, stride = 0;  // stride: bytes from row to row
    const std::uint8_t* row(std::int64_t y) const { return pixels + y * stride; }
    PictureView part(const Box& box) const {
        return {row(box.top) + box.left * channels, box.height, box.width, channels, stride};
    }
};

// Owns its pixels; memory grows to the largest picture it held and is used again.
class Picture {
  public:
    void reshape(std::int64_t height, std::int64_t width, std::int64_t channels) {
        height_ = height;
        width_ = width;
        channels_ = channels;
        const auto bytes = static_cast<std::size_t>(height * width * channels);
        if (buffer_.size() < bytes) {
            buffer_ = {};
            buffer_ = ByteBuffer(bytes);
        }
    }
    std::int64_t height() const { return height_; }
    std::int64_t width() const { return width_; }
    std::int64_t channels() const { return channels_; }
    std::int64_t stride() const { return width_ * channels_; }
    std::uint8_t* row(std::int64_t y) { return buffer_.data() + y * stride(); }
    PictureView view() const { return {buffer_.data(), height_, width_, channels_, stride()}; }

  private:
    std::int64_t height_ = 0, width_ = 0, channels_ = 0;
    ByteBuffer buffer_;
};

}  // namespace mpt
