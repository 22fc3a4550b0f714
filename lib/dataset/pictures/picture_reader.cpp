#include "dataset/pictures/picture_reader.h"

#include <algorithm>
#include <cstring>

#include "dataset/data_file.h"
#include "dataset/pictures/decoders.h"

namespace mpt {

PictureFormat format_of(std::span<const std::uint8_t> bytes) {
    const auto starts_with = [&](std::size_t at, const char* magic, std::size_t length) {
        return bytes.size() >= at + length && std::memcmp(bytes.data() + at, magic, length) == 0;
    };
    if (starts_with(0, "\xFF\xD8\xFF", 3)) return PictureFormat::kJpeg;
    if (starts_with(0, "\x89PNG\r\n\x1A\n", 8)) return PictureFormat::kPng;
    if (starts_with(0, "RIFF", 4) && starts_with(8, "WEBP", 4)) return PictureFormat::kWebp;
    return PictureFormat::kUnknown;
}

void fail_picture(const std::string& what) {
    throw Error(ExitCode::kData, what);
}

void fail_memory(const char* format) {
    throw Error(ExitCode::kResource, std::string("a ") + format +
                                         " picture that needs more memory than there is; raise the limit "
                                         "(ulimit -v), or lower data.workers");
}

void check_limits(std::int64_t height, std::int64_t width, const PictureLimits& limits) {
    if (height >= 1 && width >= 1 && height <= limits.max_side && width <= limits.max_side &&
        height * width <= limits.max_pixels)
        return;
    fail_picture("its header claims " + std::to_string(height) + "x" + std::to_string(width) +
                 " pixels, allowed are " + std::to_string(limits.max_pixels) + " in all and sides of 1 to " +
                 std::to_string(limits.max_side));
}

void to_luma(const std::uint8_t* rgb, std::int64_t pixels, std::uint8_t* out) {
    constexpr std::uint32_t kRed = 19595, kGreen = 38470, kBlue = 7471;  // 0.299, 0.587, 0.114 of 65536
    for (std::int64_t i = 0; i < pixels; ++i, rgb += 3)
        out[i] =
            static_cast<std::uint8_t>((rgb[0] * kRed + rgb[1] * kGreen + rgb[2] * kBlue + 0x8000u) >> 16);
}

struct PictureReader::Decoders {
    explicit Decoders(const PictureLimits& l) : limits(l) {}

    PictureDecoder& of(PictureFormat format) {
        switch (format) {
            case PictureFormat::kJpeg:
                if (!jpeg) jpeg = make_jpeg_decoder(limits);
                return *jpeg;
            case PictureFormat::kPng:
                if (!png) png = make_png_decoder(limits);
                return *png;
            case PictureFormat::kWebp:
                if (!webp) webp = make_webp_decoder(limits);
                return *webp;
            case PictureFormat::kUnknown:
                break;
        }
        MPT_CHECK(false);
        return *jpeg;
    }

    PictureLimits limits;
    PictureHeader header;
    std::unique_ptr<PictureDecoder> jpeg, png, webp;
};

PictureReader::PictureReader(const PictureLimits& limits) : decoders_(std::make_unique<Decoders>(limits)) {}
PictureReader::~PictureReader() = default;

const PictureHeader& PictureReader::open(std::span<const std::uint8_t> bytes) {
    decoders_->header = {};
    const PictureFormat format = format_of(bytes);
    if (format == PictureFormat::kUnknown) {
        const std::string guess = looks_like(bytes.first(std::min<std::size_t>(bytes.size(), 512)));
        fail_picture(bytes.empty() ? "is empty"
                                   : "is no JPEG, PNG or WebP picture" +
                                         (guess.empty() ? "" : "; its first bytes look like " + guess));
    }
    PictureHeader header = decoders_->of(format).open(bytes);
    header.format = format;
    if (header.orientation < 1 || header.orientation > 8) header.orientation = 1;
    decoders_->header = header;
    return decoders_->header;
}

DecodedPart PictureReader::decode(const Box& box, int shrink, std::int64_t channels, Picture& out) {
    const PictureHeader& header = decoders_->header;
    MPT_CHECK(header.format != PictureFormat::kUnknown, "decode() without open()");
    MPT_CHECK(channels == 1 || channels == 3);
    MPT_CHECK(box.top >= 0 && box.left >= 0 && box.height >= 1 && box.width >= 1 &&
              box.top + box.height <= header.height && box.left + box.width <= header.width);
    PictureDecoder& decoder = decoders_->of(header.format);
    decoders_->header = {};
    const DecodedPart part = decoder.decode(box, shrink, channels, out);
    decoder.close();
    return part;
}

}  // namespace mpt
