// Decoders against PIL's values (tests/golden/pictures.json), against what was encoded, and crops against the
// same pixels of the whole picture.
#include <catch2/catch.hpp>

#include "support/errors.h"
#include "support/golden.h"
#include "support/pictures.h"

using namespace mpt;
using namespace mpt::test;

namespace {

PictureBytes box_of(const TestPicture& picture, const Box& box) {
    PictureBytes pixels;
    const PictureView part = picture.view().part(box);
    for (std::int64_t y = 0; y < box.height; ++y)
        pixels.insert(pixels.end(), part.row(y), part.row(y) + box.width * picture.channels);
    return pixels;
}

PictureBytes decode_box(const PictureBytes& bytes, const Box& box, std::int64_t channels) {
    PictureReader reader;
    Picture out;
    reader.open(bytes);
    const DecodedPart part = reader.decode(box, 1, channels, out);
    CHECK(part.area.top == 0);
    CHECK(part.area.left == 0);
    REQUIRE(part.pixels.height == box.height);
    REQUIRE(part.pixels.width == box.width);
    TestPicture picture{box.height, box.width, channels, {}};
    for (std::int64_t y = 0; y < box.height; ++y)
        picture.pixels.insert(picture.pixels.end(), part.pixels.row(y),
                              part.pixels.row(y) + box.width * channels);
    return picture.pixels;
}

}  // namespace

TEST_CASE("pictures of every kind have PIL's pixels") {
    for (const nlohmann::json values = golden("pictures").at("files"); const auto& file : values) {
        const std::string name = file.at("name");
        INFO(name);
        const PictureBytes bytes = from_hex(file.at("file"));
        const TestPicture rgb = decode_whole(bytes, 3), grey = decode_whole(bytes, 1);
        CHECK(rgb.height == 20);
        CHECK(rgb.width == 28);
        // The libraries are the same; CMYK differs by rounding.
        CHECK(largest_difference(rgb.pixels, from_hex(file.at("rgb"))) <= (name == "jpeg_cmyk" ? 1 : 0));
        // The luma of a JPEG is the stored one, PIL's is made from rounded and clipped colours.
        const PictureBytes pil_grey = from_hex(file.at("grey"));
        if (name.starts_with("png") || name == "jpeg_grey" || name.starts_with("webp"))
            CHECK(grey.pixels == pil_grey);
        else if (name == "jpeg_cmyk")
            CHECK(largest_difference(grey.pixels, pil_grey) <= 1);
    }
}

TEST_CASE("PNG: depths, alpha and interlacing leave the stored values") {
    const TestPicture rgb = test_picture(19, 23, 3), grey = test_picture(19, 23, 1);
    CHECK(decode_whole(encode_png(rgb)).pixels == rgb.pixels);
    CHECK(decode_whole(encode_png(rgb, {.interlaced = true})).pixels == rgb.pixels);
    // 16 bits: v * 257 + 20 is v + 0.08 of 255, which rounds to v.
    CHECK(decode_whole(encode_png(rgb, {.bit_depth = 16})).pixels == rgb.pixels);
    CHECK(decode_whole(encode_png(grey), 1).pixels == grey.pixels);
    TestPicture alpha = test_picture(19, 23, 4);
    const TestPicture opaque = decode_whole(encode_png(alpha));
    for (std::int64_t y = 0; y < 19; ++y)
        for (std::int64_t x = 0; x < 23; ++x)
            for (std::int64_t c = 0; c < 3; ++c)
                REQUIRE(opaque.view().row(y)[x * 3 + c] == alpha.at(y, x, c));
}

TEST_CASE("a grey JPEG of 128 is three channels of 128") {
    TestPicture grey{16, 16, 1, PictureBytes(256, 128)};
    CHECK(decode_whole(encode_jpeg(grey)).pixels == PictureBytes(768, 128));
}

TEST_CASE("CMYK and YCCK, with and without an Adobe marker") {
    // Ink of 0..255 as an Adobe program stores it: inverted. c k / 255 is what is seen.
    TestPicture cmyk{16, 16, 4, {}};
    for (int i = 0; i < 256; ++i) cmyk.pixels.insert(cmyk.pixels.end(), {200, 100, 50, 204});
    const PictureBytes rgb = decode_whole(encode_jpeg(cmyk, {.quality = 100})).pixels;
    CHECK(std::abs(rgb[0] - 160) <= 2);
    CHECK(std::abs(rgb[1] - 80) <= 2);
    CHECK(std::abs(rgb[2] - 40) <= 2);
    const PictureBytes ycck = decode_whole(encode_jpeg(cmyk, {.quality = 100, .stored = JCS_YCCK})).pixels;
    CHECK(largest_difference(rgb, ycck) <= 2);
    const PictureBytes plain = decode_whole(encode_jpeg(cmyk, {.quality = 100, .adobe = false})).pixels;
    CHECK(std::abs(plain[0] - 55 * 51 / 255) <= 2);
    CHECK(std::abs(plain[2] - 205 * 51 / 255) <= 2);
}

TEST_CASE("a decoded box holds exactly the pixels of the whole picture") {
    const TestPicture picture = test_picture(90, 131, 3);
    struct File {
        std::string name;
        PictureBytes bytes;
    };
    std::vector<File> files = {{"png", encode_png(picture)},
                               {"png interlaced", encode_png(picture, {.interlaced = true})},
                               {"jpeg grey", encode_jpeg(test_picture(90, 131, 1))},
                               {"jpeg cmyk", encode_jpeg(test_picture(90, 131, 4))}};
    for (const bool progressive : {false, true})
        for (const int chroma : {1, 2})
            for (const int restart : {0, 3})
                files.push_back(
                    {"jpeg " + std::to_string(progressive) + std::to_string(chroma) + std::to_string(restart),
                     encode_jpeg(
                         picture,
                         {.chroma = chroma, .progressive = progressive, .restart_interval = restart})});
    for (const nlohmann::json values = golden("pictures").at("files"); const auto& file : values)
        if (std::string(file.at("name")).starts_with("webp"))
            files.push_back({file.at("name"), from_hex(file.at("file"))});
    for (const File& file : files) {
        for (const std::int64_t channels : {1, 3}) {
            const TestPicture whole = decode_whole(file.bytes, channels);
            std::vector<Box> boxes = {{0, 0, 1, 1}, {3, 5, 9, 11}, {7, 16, 13, 8}, {0, 1, whole.height, 17}};
            if (whole.height == 90)
                boxes.insert(boxes.end(),
                             {{16, 32, 32, 64}, {17, 33, 40, 50}, {89, 130, 1, 1}, {88, 15, 2, 100}});
            for (const Box& box : boxes) {
                INFO(file.name << ' ' << channels << " box " << box.top << ' ' << box.left << ' '
                               << box.height << ' ' << box.width);
                CHECK(decode_box(file.bytes, box, channels) == box_of(whole, box));
            }
        }
    }
}

TEST_CASE("a shrunk JPEG covers the box, near the mean of its pixels") {
    const TestPicture picture = smooth_picture(97, 130, 3);
    const PictureBytes bytes = encode_jpeg(picture, {.quality = 98, .chroma = 1});
    for (const int shrink : {2, 4, 8}) {
        for (const Box& box : {Box{0, 0, 97, 130}, Box{16, 24, 48, 64}, Box{13, 21, 51, 67}}) {
            PictureReader reader;
            Picture out;
            reader.open(bytes);
            const DecodedPart part = reader.decode(box, shrink, 3, out);
            INFO(shrink << " box " << box.top);
            CHECK(part.area.top == Approx(static_cast<double>(box.top % shrink) / shrink));
            CHECK(part.area.left == Approx(static_cast<double>(box.left % shrink) / shrink));
            CHECK(part.area.top + part.area.height <= static_cast<double>(part.pixels.height));
            CHECK(part.area.left + part.area.width <= static_cast<double>(part.pixels.width));
            for (std::int64_t y = 0; y + 1 < part.pixels.height; ++y) {
                for (std::int64_t x = 0; x + 1 < part.pixels.width; ++x) {
                    const std::int64_t from_y = (box.top / shrink + y) * shrink + shrink / 2;
                    const std::int64_t from_x = (box.left / shrink + x) * shrink + shrink / 2;
                    if (from_y >= 97 || from_x >= 130) continue;
                    const int expected = picture.view().row(from_y)[from_x * 3];
                    REQUIRE(std::abs(part.pixels.row(y)[x * 3] - expected) <= 4);
                }
            }
        }
    }
}

TEST_CASE("all eight orientations give the same upright picture") {
    const TestPicture upright = smooth_picture(40, 56, 3);
    for (int orientation = 1; orientation <= 8; ++orientation) {
        // Where upright pixel (y, x) is stored, written down from the EXIF standard's names of row 0, column
        // 0.
        const bool transposed = orientation >= 5;
        TestPicture stored = smooth_picture(transposed ? 56 : 40, transposed ? 40 : 56, 3);
        const std::int64_t h = stored.height, w = stored.width;
        for (std::int64_t y = 0; y < 40; ++y) {
            for (std::int64_t x = 0; x < 56; ++x) {
                const std::int64_t places[8][2] = {
                    {y, x}, {y, w - 1 - x}, {h - 1 - y, w - 1 - x}, {h - 1 - y, x},
                    {x, y}, {h - 1 - x, y}, {h - 1 - x, w - 1 - y}, {x, w - 1 - y}};
                for (std::int64_t c = 0; c < 3; ++c)
                    stored.at(places[orientation - 1][0], places[orientation - 1][1], c) =
                        const_cast<TestPicture&>(upright).at(y, x, c);
            }
        }
        const PictureBytes files[] = {
            encode_png(stored, {.orientation = orientation}),
            encode_jpeg(stored, {.quality = 98, .chroma = 1, .orientation = orientation})};
        for (const PictureBytes& file : files) {
            PictureReader reader;
            Picture out;
            const PictureHeader header = reader.open(file);
            CHECK(header.orientation == orientation);
            CHECK(header.upright_height() == 40);
            const Box box{5, 9, 21, 30};
            const DecodedPart part = reader.decode(stored_box(header, box), 1, 3, out);
            PictureBytes turned(21 * 30 * 3);
            orient(part.pixels, orientation, turned.data());
            CHECK(largest_difference(turned, box_of(upright, box)) <= (file[0] == 0xFF ? 2 : 0));
        }
    }
}

TEST_CASE("a damaged EXIF block means upright") {
    PictureBytes block = exif_block(6);
    CHECK(exif_orientation(block) == 6);
    for (std::size_t length = 0; length < 20; ++length)
        CHECK(exif_orientation(std::span(block).first(length)) == 1);
    block[18] = 9;
    CHECK(exif_orientation(block) == 1);
    block = exif_block(6);
    block[4] = 0xFF;
    block[7] = 0xFF;
    CHECK(exif_orientation(block) == 1);
}

TEST_CASE("an orientation stored as LONG, or behind the pixels of a PNG, counts") {
    for (const char order : {'I', 'M'}) {
        PictureBytes block = exif_block(6);  // little-endian
        block[12] = 4;                       // the type
        if (order == 'M')
            block = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 4, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0};
        CHECK(exif_orientation(block) == 6);
    }
    PictureBytes png = encode_png(test_picture(10, 20, 3), {.orientation = 6});
    const std::string type = "eXIf";
    const auto found = std::search(png.begin(), png.end(), type.begin(), type.end()) - 4;
    const PictureBytes chunk(found, found + 12 + found[3]);
    png.erase(found, found + static_cast<std::ptrdiff_t>(chunk.size()));
    CHECK(PictureReader().open(png).orientation == 1);
    png.insert(png.end() - 12, chunk.begin(), chunk.end());  // before IEND
    CHECK(PictureReader().open(png).orientation == 6);
    CHECK(decode_whole(png).height == 10);
    png[png.size() - 13] ^= 1;  // its checksum
    CHECK(PictureReader().open(png).orientation == 1);
}

TEST_CASE("formats that are not read are named") {
    const std::pair<std::string, const char*> kinds[] = {
        {"GIF89a", "GIF picture"},
        {"BM1234", "BMP picture"},
        {std::string("II*\0", 4), "TIFF picture"},
        {std::string("MM\0*", 4), "TIFF picture"},
        {std::string("\0\0\0\x18", 4) + "ftypheic", "HEIC picture"},
        {std::string("\0\0\0\x18", 4) + "ftypavif", "AVIF picture"},
        {"<svg xmlns=", "SVG drawing"},
        {"<?xml version='1.0'?>\n<!-- " + std::string(200, '-') + " -->\n<svg>", "SVG drawing"},
        {"<!DOCTYPE html>", "HTML page"}};
    for (const auto& [begin, name] : kinds) {
        std::string text = begin + std::string(40, ' ');
        CHECK_THAT(
            error_of(ExitCode::kData, [&] { PictureReader().open(PictureBytes(text.begin(), text.end())); }),
            Catch::Contains("is no JPEG, PNG or WebP") && Catch::EndsWith(name));
    }
}

TEST_CASE("damaged, cut and foreign files are refused with a reason") {
    const auto reason = [](const PictureBytes& bytes) {
        return error_of(ExitCode::kData, [&] { decode_whole(bytes); });
    };
    const TestPicture picture = test_picture(60, 80, 3);
    for (const PictureBytes& whole :
         {encode_jpeg(picture), encode_jpeg(picture, {.progressive = true}), encode_png(picture)}) {
        for (const std::size_t kept : {whole.size() / 2, whole.size() - 2, whole.size() * 9 / 10}) {
            const PictureBytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
            CHECK_THAT(reason(cut), Catch::Contains("cut off"));
        }
    }
    for (const nlohmann::json values = golden("pictures").at("files"); const auto& file : values) {
        PictureBytes bytes = from_hex(file.at("file"));
        bytes.resize(bytes.size() / 2);
        INFO(file.at("name"));
        CHECK_FALSE(reason(bytes).empty());
    }
    CHECK(reason({}) == "is empty");
    const std::string html = "<!DOCTYPE html><html><body>not found</body></html>";
    CHECK_THAT(reason(PictureBytes(html.begin(), html.end())),
               Catch::Contains("no JPEG, PNG or WebP") && Catch::Contains("HTML"));
    PictureBytes flipped = encode_png(picture);
    flipped[flipped.size() / 2] ^= 0x10;
    CHECK_THAT(reason(flipped), Catch::Contains("damaged PNG"));
}

TEST_CASE("a header that claims too much is refused before memory is taken") {
    PictureBytes png = encode_png(test_picture(4, 4, 1));
    png[16] = 0x7F;  // width 2130706436; the checksum of the header is wrong then, and libpng says so first
    CHECK_FALSE(error_of(ExitCode::kData, [&] { decode_whole(png); }).empty());
    PictureBytes jpeg = encode_jpeg(test_picture(16, 16, 3));
    for (std::size_t i = 0; i + 9 < jpeg.size(); ++i) {
        if (jpeg[i] != 0xFF || jpeg[i + 1] != 0xC0) continue;
        for (std::size_t at = i + 5; at < i + 9; ++at) jpeg[at] = 0xFF;  // height and width 65535
        break;
    }
    CHECK_THAT(error_of(ExitCode::kData, [&] { decode_whole(jpeg); }), Catch::Contains("65500"));
    PictureReader small({.max_side = 100, .max_pixels = 1000});
    const PictureBytes large = encode_png(test_picture(40, 26, 1)),
                       wide = encode_png(test_picture(1, 101, 1));
    CHECK_THAT(error_of(ExitCode::kData, [&] { small.open(large); }),
               Catch::Contains("40x26 pixels, allowed are 1000 in all and sides of 1 to 100"));
    CHECK_THAT(error_of(ExitCode::kData, [&] { small.open(wide); }), Catch::Contains("1x101"));
}
