#include <png.h>

#include "dataset/pictures/encoders.h"

namespace mpt {

std::vector<std::uint8_t> encode_png(const PictureView& picture) {
    MPT_CHECK(picture.channels == 1 || picture.channels == 3);
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(picture.width);
    image.height = static_cast<png_uint_32>(picture.height);
    image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(PNG_IMAGE_PNG_SIZE_MAX(image)));
    png_alloc_size_t size = bytes.size();
    if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.pixels,
                                   static_cast<png_int_32>(picture.stride), nullptr))
        throw Error(ExitCode::kResource, std::string("a picture cannot be encoded: ") + image.message);
    bytes.resize(size);
    return bytes;
}

}  // namespace mpt
