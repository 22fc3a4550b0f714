// The decoder of each format; picture_reader.cpp chooses.
#pragma once

#include <memory>
#include <span>

#include "dataset/pictures/picture_reader.h"

namespace mpt {

class PictureDecoder {
  public:
    virtual ~PictureDecoder() = default;
    virtual PictureHeader open(std::span<const std::uint8_t> bytes) = 0;
    virtual DecodedPart decode(const Box& box, int shrink, std::int64_t channels, Picture& out) = 0;
    // Gives back what only the opened picture needs.
    virtual void close() {}
};

std::unique_ptr<PictureDecoder> make_jpeg_decoder(const PictureLimits& limits);
std::unique_ptr<PictureDecoder> make_png_decoder(const PictureLimits& limits);
std::unique_ptr<PictureDecoder> make_webp_decoder(const PictureLimits& limits);

[[noreturn]] void fail_picture(const std::string& what);
// Error(kResource): the picture may be sound.
[[noreturn]] void fail_memory(const char* format);
void check_limits(std::int64_t height, std::int64_t width, const PictureLimits& limits);

}  // namespace mpt
