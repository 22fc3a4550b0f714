#include <cstdio>
// jpeglib.h needs FILE.
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>

#include "dataset/pictures/encoders.h"

namespace mpt {
namespace {

struct Encoder {
    jpeg_error_mgr errors{};
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX] = {};
    jpeg_compress_struct info{};
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    ~Encoder() {
        jpeg_destroy_compress(&info);
        std::free(bytes);
    }
};

void leave(j_common_ptr info) {
    Encoder& encoder = *static_cast<Encoder*>(info->client_data);
    info->err->format_message(info, encoder.message);
    std::longjmp(encoder.jump, 1);
}

// False when libjpeg left by an error.
bool encode(Encoder& encoder, const PictureView& picture, int quality) {
    jpeg_compress_struct& info = encoder.info;
    if (setjmp(encoder.jump) != 0) return false;
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &encoder.bytes, &encoder.size);
    info.image_width = static_cast<JDIMENSION>(picture.width);
    info.image_height = static_cast<JDIMENSION>(picture.height);
    info.input_components = static_cast<int>(picture.channels);
    info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    if (quality >= 90) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&info, TRUE);
    for (std::int64_t y = 0; y < picture.height; ++y) {
        JSAMPROW row = const_cast<JSAMPROW>(picture.row(y));
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    return true;
}

}  // namespace

std::vector<std::uint8_t> encode_jpeg(const PictureView& picture, int quality) {
    MPT_CHECK(picture.channels == 1 || picture.channels == 3);
    Encoder encoder;
    encoder.info.err = jpeg_std_error(&encoder.errors);
    encoder.errors.error_exit = leave;
    encoder.info.client_data = &encoder;
    if (!encode(encoder, picture, quality))
        throw Error(ExitCode::kResource, std::string("a picture cannot be encoded: ") + encoder.message);
    return {encoder.bytes, encoder.bytes + encoder.size};
}

}  // namespace mpt
