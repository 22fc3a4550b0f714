// Colour ops and RandAugment against torchvision's values.
#include <catch2/catch.hpp>

#include "dataset/pictures/pixel_ops.h"
#include "support/golden.h"
#include "support/pictures.h"

using namespace mpt;
using namespace mpt::test;

namespace {

std::size_t num_different(const PictureBytes& a, const PictureBytes& b) {
    std::size_t different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) different += a[i] != b[i] ? 1 : 0;
    return different;
}

void apply(const std::string& op, const PixelImage& image) {
    if (op == "brightness") return adjust_brightness(image, 1.4);
    if (op == "contrast") return adjust_contrast(image, 0.6);
    if (op == "saturation") return adjust_saturation(image, 1.7);
    if (op == "hue") return adjust_hue(image, 0.21);
    if (op == "sharpness") return adjust_sharpness(image, 1.8);
    if (op == "posterize") return posterize(image, 3);
    if (op == "solarize") return solarize(image, 100);
    if (op == "autocontrast") return autocontrast(image);
    if (op == "equalize") return equalize(image);
    FAIL("unknown op " << op);
}

}  // namespace

TEST_CASE("colour ops have torchvision's values") {
    std::vector<std::uint8_t> scratch;
    for (const nlohmann::json values = golden("pictures").at("operations"); const auto& item : values) {
        const std::int64_t channels = item.at("channels");
        TestPicture picture = test_picture(24, 20, channels);
        for (std::uint8_t& value : picture.pixels) value = static_cast<std::uint8_t>(value / 2 + 30);
        apply(item.at("op"), {picture.pixels.data(), {24, 20, channels}, &scratch});
        const PictureBytes expected = from_hex(item.at("pixels"));
        INFO(item.at("op") << ' ' << channels);
        CHECK(largest_difference(picture.pixels, expected) <= 1);  // f32 sums in another order, cut off
        CHECK(num_different(picture.pixels, expected) * 50 <= expected.size());
    }
}

TEST_CASE("RandAugment's ops have torchvision's values") {
    std::vector<std::uint8_t> scratch;
    for (const nlohmann::json values = golden("pictures").at("rand_augment"); const auto& item : values) {
        TestPicture picture = test_picture(24, 20, 3);
        const int sign = item.at("sign");
        apply_rand_augment({picture.pixels.data(), {24, 20, 3}, &scratch}, item.at("op"),
                           item.at("magnitude"), sign < 0 ? Sign::kMinus : Sign::kPlus);
        INFO(item.at("name") << ' ' << item.at("magnitude") << ' ' << sign);
        // Where an input pixel lies half-way between two, f32 and f64 may choose differently.
        CHECK(num_different(picture.pixels, from_hex(item.at("pixels"))) * 50 <= picture.pixels.size());
    }
}
