// Compressed pictures: JPEG, PNG and WebP, told apart by their first bytes. One rule for each of their kinds:
//   grey          repeated into three channels; with one channel asked for, colours become luma (Rec. 601)
//   palette       its colours
//   alpha         left out, as by PIL's convert("RGB"); so is a transparent colour
//   16 bits       scaled to 8 by 255 / 65535, rounded
//   CMYK, YCCK    (255 - C) (255 - K) / 255; inverted where an Adobe marker is there, as Adobe writes them
//   progressive   decoded to the end; more than 256 scans are refused
//   orientation   that of the EXIF block; boxes are in stored pixels, `orient` turns the result upright
// Gamma, colour profiles and animations are not used: an animated WebP is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "dataset/pictures/picture.h"

namespace mpt {

enum class PictureFormat { kUnknown, kJpeg, kPng, kWebp };
PictureFormat format_of(std::span<const std::uint8_t> bytes);

// Sizes above these are refused when the header has been read, before memory is taken.
struct PictureLimits {
    std::int64_t max_side = 65535;
    std::int64_t max_pixels = std::int64_t{1} << 26;
};

struct PictureHeader {
    PictureFormat format = PictureFormat::kUnknown;
    std::int64_t height = 0, width = 0;  // as stored
    int orientation = 1;                 // EXIF: 1 upright, 2..4 mirrored or turned, 5..8 transposed, too
    bool transposed() const { return orientation >= 5; }
    std::int64_t upright_height() const { return transposed() ? width : height; }
    std::int64_t upright_width() const { return transposed() ? height : width; }
};

// What was decoded: pixels, and where in them the wanted box lies.
struct DecodedPart {
    PictureView pixels;
    Area area;
};

// One thread's decoders, used again for picture after picture. Every failure is an Error(kData) that says
// what is wrong with the picture, or Error(kResource) when memory ran out; the caller knows the file's name
// and puts it in front.
class PictureReader {
  public:
    explicit PictureReader(const PictureLimits& limits = {});
    ~PictureReader();
    PictureReader(const PictureReader&) = delete;
    PictureReader& operator=(const PictureReader&) = delete;

    // `bytes` must stay in place until decode() or the next open().
    const PictureHeader& open(std::span<const std::uint8_t> bytes);
    // Once for each open(): the pixels of `box` (stored coordinates) at 1/shrink of their size. A shrink of
    // 2, 4 or 8 only works for JPEG, others are decoded in full. The result lies in `out`, and holds no pixel
    // from outside the box beyond the rounding of its edges.
    DecodedPart decode(const Box& box, int shrink, std::int64_t channels, Picture& out);

  private:
    struct Decoders;
    std::unique_ptr<Decoders> decoders_;
};

// Rec. 601 luma with weights of 16 bits, as PIL's convert("L").
void to_luma(const std::uint8_t* rgb, std::int64_t pixels, std::uint8_t* out);

// 1 where the TIFF block of an EXIF marker is damaged or does not say.
int exif_orientation(std::span<const std::uint8_t> tiff);

// Where a box of the upright picture lies in the stored one.
Box stored_box(const PictureHeader& header, const Box& upright);

// Turns a stored picture upright: (height, width) of `in` become (width, height) when transposed. `out` is
// packed.
void orient(const PictureView& in, int orientation, std::uint8_t* out);

}  // namespace mpt
