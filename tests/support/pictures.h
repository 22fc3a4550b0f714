// Pictures for the tests: pixels by a formula, and encoders by the libraries' own calls.
#pragma once

#include <cstdio>
// jpeglib.h needs FILE.
#include <jpeglib.h>
#include <png.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataset/pictures/picture_reader.h"

namespace mpt::test {

using PictureBytes = std::vector<std::uint8_t>;

struct TestPicture {
    std::int64_t height = 0, width = 0, channels = 0;
    PictureBytes pixels;
    std::uint8_t& at(std::int64_t y, std::int64_t x, std::int64_t c) {
        return pixels[static_cast<std::size_t>((y * width + x) * channels + c)];
    }
    PictureView view() const { return {pixels.data(), height, width, channels, width * channels}; }
};

// As scripts/golden/make_picture_golden.py makes it.
inline TestPicture test_picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
    TestPicture picture{height, width, channels,
                        PictureBytes(static_cast<std::size_t>(height * width * channels))};
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (std::int64_t c = 0; c < channels; ++c)
                picture.at(y, x, c) = static_cast<std::uint8_t>(
                    (x / 8 + y / 8) % 2 == 0 ? (3 * x + 5 * y + 40 * c) % 256
                                             : (x * x * 7 + y * y * 13 + x * y * 11 + c * 101) % 251);
    return picture;
}

// A picture without noise, which JPEG keeps nearly as it is.
inline TestPicture smooth_picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
    TestPicture picture = test_picture(height, width, channels);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (std::int64_t c = 0; c < channels; ++c)
                picture.at(y, x, c) =
                    static_cast<std::uint8_t>(40 + x * 150 / width + y * 50 / height + c * 5);
    return picture;
}

struct JpegKind {
    int quality = 92;
    int chroma = 2;  // sampling factor of luma: 2 is 4:2:0
    bool progressive = false;
    int restart_interval = 0;
    int orientation = 0;  // EXIF; 0: no block
    J_COLOR_SPACE stored = JCS_UNKNOWN;
    bool adobe = true;
};

// A TIFF block with the one tag.
inline PictureBytes exif_block(int orientation) {
    return {'I',
            'I',
            42,
            0,
            8,
            0,
            0,
            0,
            1,
            0,
            0x12,
            0x01,
            3,
            0,
            1,
            0,
            0,
            0,
            static_cast<std::uint8_t>(orientation),
            0,
            0,
            0,
            0,
            0,
            0,
            0};
}

inline PictureBytes encode_jpeg(const TestPicture& picture, const JpegKind& kind = {}) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* buffer = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &buffer, &size);
    info.image_width = static_cast<JDIMENSION>(picture.width);
    info.image_height = static_cast<JDIMENSION>(picture.height);
    info.input_components = static_cast<int>(picture.channels);
    info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : picture.channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&info);
    if (kind.stored != JCS_UNKNOWN) jpeg_set_colorspace(&info, kind.stored);
    if (!kind.adobe) info.write_Adobe_marker = FALSE;
    jpeg_set_quality(&info, kind.quality, TRUE);
    if (picture.channels == 3)
        info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = kind.chroma;
    if (kind.progressive) jpeg_simple_progression(&info);
    info.restart_interval = static_cast<unsigned>(kind.restart_interval);
    jpeg_start_compress(&info, TRUE);
    if (kind.orientation != 0) {
        PictureBytes exif = {'E', 'x', 'i', 'f', 0, 0};
        const PictureBytes block = exif_block(kind.orientation);
        exif.insert(exif.end(), block.begin(), block.end());
        jpeg_write_marker(&info, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
    }
    for (std::int64_t y = 0; y < picture.height; ++y) {
        JSAMPROW row = const_cast<JSAMPROW>(picture.view().row(y));
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    PictureBytes bytes(buffer, buffer + size);
    std::free(buffer);
    jpeg_destroy_compress(&info);
    return bytes;
}

struct PngKind {
    int bit_depth = 8;  // 16: each value v is stored as v * 257 + 20
    bool interlaced = false;
    int orientation = 0;
};

// Channels 1..4: grey, grey and alpha, RGB, RGB and alpha.
inline PictureBytes encode_png(const TestPicture& picture, const PngKind& kind = {}) {
    PictureBytes bytes;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(
        png, &bytes,
        [](png_structp p, png_bytep data, png_size_t length) {
            auto& out = *static_cast<PictureBytes*>(png_get_io_ptr(p));
            out.insert(out.end(), data, data + length);
        },
        nullptr);
    const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width), static_cast<png_uint_32>(picture.height),
                 kind.bit_depth, colours[picture.channels - 1],
                 kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    PictureBytes exif = exif_block(kind.orientation);
    if (kind.orientation != 0) png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
    png_write_info(png, info);
    const int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; ++pass) {
        for (std::int64_t y = 0; y < picture.height; ++y) {
            const std::uint8_t* row = picture.view().row(y);
            PictureBytes wide(row, row + picture.width * picture.channels);
            if (kind.bit_depth == 16) {
                wide.clear();
                for (std::int64_t i = 0; i < picture.width * picture.channels; ++i) {
                    const int value = row[i] * 257 + 20;
                    wide.push_back(static_cast<std::uint8_t>(value >> 8));
                    wide.push_back(static_cast<std::uint8_t>(value & 255));
                }
            }
            png_write_row(png, wide.data());
        }
    }
    png_write_end(png, nullptr);
    png_destroy_write_struct(&png, &info);
    return bytes;
}

// The whole picture, packed.
inline TestPicture decode_whole(const PictureBytes& bytes, std::int64_t channels = 3) {
    PictureReader reader;
    Picture out;
    const PictureHeader header = reader.open(bytes);
    const DecodedPart part = reader.decode({0, 0, header.height, header.width}, 1, channels, out);
    TestPicture picture{part.pixels.height, part.pixels.width, channels, {}};
    for (std::int64_t y = 0; y < picture.height; ++y)
        picture.pixels.insert(picture.pixels.end(), part.pixels.row(y),
                              part.pixels.row(y) + picture.width * channels);
    return picture;
}

inline int largest_difference(const PictureBytes& a, const PictureBytes& b) {
    if (a.size() != b.size()) return 256;
    int largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

inline PictureBytes from_hex(const std::string& text) {
    PictureBytes bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

}  // namespace mpt::test
