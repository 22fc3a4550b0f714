// Resizing against PIL's values, and the AVX2 kernels against the plain ones' arithmetic in f64.
#include <catch2/catch.hpp>
#include <cmath>

#include "dataset/pictures/resize.h"
#include "support/golden.h"
#include "support/pictures.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// The definition in f64: rows and columns weighted by a triangle.
double exact_value(const PictureView& in, const Area& area, std::int64_t height, std::int64_t width,
                   std::int64_t y, std::int64_t x, std::int64_t c) {
    const auto weights = [](std::int64_t size, double begin, double length, std::int64_t output,
                            std::int64_t at) {
        const double scale = length / static_cast<double>(output), reach = std::max(scale, 1.0);
        const double center = begin + (static_cast<double>(at) + 0.5) * scale;
        std::vector<double> w(static_cast<std::size_t>(size));
        double sum = 0;
        for (std::size_t i = 0; i < w.size(); ++i)
            sum += w[i] = std::max(0.0, 1 - std::abs(static_cast<double>(i) + 0.5 - center) / reach);
        for (double& weight : w) weight /= sum;
        return w;
    };
    const auto rows = weights(in.height, area.top, area.height, height, y);
    const auto columns = weights(in.width, area.left, area.width, width, x);
    double value = 0;
    for (std::int64_t i = 0; i < in.height; ++i)
        for (std::int64_t j = 0; j < in.width; ++j)
            value += rows[static_cast<std::size_t>(i)] * columns[static_cast<std::size_t>(j)] *
                     in.row(i)[j * in.channels + c];
    return value;
}

}  // namespace

TEST_CASE("resizing is within one level of PIL's") {
    for (const nlohmann::json values = golden("pictures").at("resizes"); const auto& item : values) {
        const std::int64_t channels = item.at("channels");
        const TestPicture picture = test_picture(item.at("height"), item.at("width"), channels);
        PictureView view = picture.view();
        if (!item.at("box").is_null()) {
            const std::vector<std::int64_t> box = item.at("box");
            view = view.part({box[1], box[0], box[3] - box[1], box[2] - box[0]});
        }
        const std::int64_t height = item.at("out_height"), width = item.at("out_width");
        PictureBytes out(static_cast<std::size_t>(height * width * channels));
        Resizer resizer;
        resizer.resize(view, {0, 0, static_cast<double>(view.height), static_cast<double>(view.width)},
                       height, width, out.data());
        INFO(picture.height << 'x' << picture.width << " to " << height << 'x' << width);
        const PictureBytes expected = from_hex(item.at("pixels"));
        CHECK(largest_difference(out, expected) <= 1);
        std::size_t different = 0;
        for (std::size_t i = 0; i < out.size(); ++i) different += out[i] != expected[i] ? 1 : 0;
        CHECK(different * 4 <= out.size());
    }
}

TEST_CASE("resizing follows its definition in f64, for parts of pixels, too") {
    const TestPicture picture = test_picture(41, 57, 3);
    const PictureView view = picture.view();
    for (const Area& area : {Area{0, 0, 41, 57}, Area{3.25, 10.5, 20.75, 30.125}, Area{0.5, 0.5, 3, 4}}) {
        const std::int64_t height = 13, width = 18;
        PictureBytes out(static_cast<std::size_t>(height * width * 3));
        Resizer().resize(view, area, height, width, out.data());
        for (std::int64_t y = 0; y < height; ++y)
            for (std::int64_t x = 0; x < width; ++x)
                for (std::int64_t c = 0; c < 3; ++c)
                    REQUIRE(std::abs(out[static_cast<std::size_t>((y * width + x) * 3 + c)] -
                                     exact_value(view, area, height, width, y, x, c)) < 0.6);
    }
}

TEST_CASE("a picture of the right size is copied, one colour stays one colour") {
    const TestPicture picture = test_picture(21, 34, 3);
    PictureBytes out(picture.pixels.size());
    Resizer resizer;
    resizer.resize(picture.view(), {0, 0, 21, 34}, 21, 34, out.data());
    CHECK(out == picture.pixels);
    for (const int value : {0, 1, 128, 255}) {
        const TestPicture flat{50, 70, 3, PictureBytes(50 * 70 * 3, static_cast<std::uint8_t>(value))};
        for (const auto& [h, w] : std::vector<std::pair<int, int>>{{7, 9}, {50, 31}, {120, 99}, {1, 1}}) {
            PictureBytes resized(static_cast<std::size_t>(h * w * 3));
            resizer.resize(flat.view(), {0, 0, 50, 70}, h, w, resized.data());
            CHECK(resized == PictureBytes(resized.size(), static_cast<std::uint8_t>(value)));
        }
    }
}
