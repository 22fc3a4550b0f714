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
        header.height = features.height;
        header.width = features.width;
        header.orientation = orientation_of(bytes);
        return header;
    }

    DecodedPart decode(const Box& box, int, std::int64_t channels, Picture& out) override {
        // libwebp moves the corner of a crop to even places: let it start there.
        const std::int64_t left = box.left & ~std::int64_t{1}, top = box.top & ~std::int64_t{1};
        const std::int64_t width = box.left + box.width - left, height = box.top + box.height - top;
        Picture& decoded = channels == 3 ? out : colour_;
        decoded.reshape(height, width, 3);
        WebPDecoderConfig config;
        if (!WebPInitDecoderConfig(&config)) fail_picture("libwebp is of another version");
        config.options.use_cropping = 1;
        config.options.crop_left = static_cast<int>(left);
        config.options.crop_top = static_cast<int>(top);
        config.options.crop_width = static_cast<int>(width);
        config.options.crop_height = static_cast<int>(height);
        config.output.colorspace = MODE_RGB;
        config.output.is_external_memory = 1;
        config.output.u.RGBA = {decoded.row(0), static_cast<int>(decoded.stride()),
                                static_cast<std::size_t>(decoded.stride() * height)};
        const VP8StatusCode status = WebPDecode(bytes_.data(), bytes_.size(), &config);
        WebPFreeDecBuffer(&config.output);
        check(status);
        if (channels == 1) {
            out.reshape(height, width, 1);
            to_luma(decoded.row(0), height * width, out.row(0));
        }
        return {out.view().part({box.top - top, box.left - left, box.height, box.width}),
                {0, 0, static_cast<double>(box.height), static_cast<double>(box.width)}};
    }

  private:
    static void check(VP8StatusCode status) {
        if (status == VP8_STATUS_OK) return;
        if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED)
            fail_picture("cut off: WebP that ends too early");
        if (status == VP8_STATUS_OUT_OF_MEMORY) fail_picture("WebP that needs more memory than there is");
        fail_picture("damaged WebP: libwebp's status " + std::to_string(static_cast<int>(status)));
    }

    PictureLimits limits_;
    std::span<const std::uint8_t> bytes_;
    Picture colour_;
};

}  // namespace

std::unique_ptr<PictureDecoder> make_webp_decoder(const PictureLimits& limits) {
    return std::make_unique<WebpDecoder>(limits);
}

}  // namespace mpt
