// WebP by libwebp.
#include <webp/decode.h>

#include <algorithm>
#include <cstring>

#include "dataset/pictures/decoders.h"

namespace mpt {
namespace {

// The EXIF chunk of the RIFF container; most writers leave JPEG's "Exif\0\0" out.
int orientation_of(std::span<const std::uint8_t> bytes) {
    std::size_t at = 12;  // behind RIFF, size, WEBP
    while (at + 8 <= bytes.size()) {
        std::size_t size = 0;
        for (std::size_t i = 4; i-- > 0;) size = size << 8 | bytes[at + 4 + i];
        const std::size_t body = at + 8;
        if (size > bytes.size() - body) return 1;
        if (std::memcmp(bytes.data() + at, "EXIF", 4) == 0) {
            std::span<const std::uint8_t> exif = bytes.subspan(body, size);
            if (exif.size() > 6 && std::memcmp(exif.data(), "Exif\0\0", 6) == 0) exif = exif.subspan(6);
            return exif_orientation(exif);
        }
        at = body + size + size % 2;
    }
    return 1;
}

class WebpDecoder final : public PictureDecoder {
  public:
    explicit WebpDecoder(const PictureLimits& limits) : limits_(limits) {}

    PictureHeader open(std::span<const std::uint8_t> bytes) override {
        bytes_ = bytes;
        WebPBitstreamFeatures features{};
        check(WebPGetFeatures(bytes.data(), bytes.size(), &features));
        if (features.has_animation) fail_picture("is an animated WebP; pictures must be still");
        check_limits(features.height, features.width, limits_);
        PictureHeader header;
        header.height = height_ = features.height;
        header.width = width_ = features.width;
        header.orientation = orientation_of(bytes);
        return header;
    }

    DecodedPart decode(const Box& box, int, std::int64_t channels, Picture& out) override {
        // libwebp's own crop makes the colours at its edges without what lies beyond: decode all of it.
        Picture& decoded = channels == 3 ? out : colour_;
        decode_whole(decoded);
        const PictureView part = decoded.view().part(box);
        const Area area{0, 0, static_cast<double>(box.height), static_cast<double>(box.width)};
        if (channels == 3) return {part, area};
        out.reshape(box.height, box.width, 1);
        for (std::int64_t y = 0; y < box.height; ++y) to_luma(part.row(y), box.width, out.row(y));
        return {out.view(), area};
    }

  private:
    void decode_whole(Picture& decoded) {
        decoded.reshape(height_, width_, 3);
        const auto bytes = static_cast<std::size_t>(decoded.stride() * height_);
        WebPDecoderConfig config;
        if (!WebPInitDecoderConfig(&config)) fail_picture("libwebp is of another version");
        config.output.colorspace = MODE_RGB;
        config.output.is_external_memory = 1;
        config.output.u.RGBA = {decoded.row(0), static_cast<int>(decoded.stride()), bytes};
        const VP8StatusCode status = WebPDecode(bytes_.data(), bytes_.size(), &config);
        WebPFreeDecBuffer(&config.output);
        check(status);
    }

    static void check(VP8StatusCode status) {
        if (status == VP8_STATUS_OK) return;
        if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED)
            fail_picture("cut off: WebP that ends too early");
        if (status == VP8_STATUS_OUT_OF_MEMORY) fail_memory("WebP");
        fail_picture("damaged WebP: libwebp's status " + std::to_string(static_cast<int>(status)));
    }

    PictureLimits limits_;
    std::span<const std::uint8_t> bytes_;
    std::int64_t height_ = 0, width_ = 0;
    Picture colour_;
};

}  // namespace

std::unique_ptr<PictureDecoder> make_webp_decoder(const PictureLimits& limits) {
    return std::make_unique<WebpDecoder>(limits);
}

}  // namespace mpt
