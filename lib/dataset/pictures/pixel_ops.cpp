#include "dataset/pictures/pixel_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpt {
namespace {

std::uint8_t cut_off(float value) {
    return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

// torchvision's weights, which are not quite those of PIL.
std::uint8_t grey_of(const std::uint8_t* rgb) {
    return static_cast<std::uint8_t>(0.2989f * static_cast<float>(rgb[0]) +
                                     0.587f * static_cast<float>(rgb[1]) +
                                     0.114f * static_cast<float>(rgb[2]));
}

std::int64_t bytes_of(const PixelImage& image) {
    return image.geometry.bytes();
}

// factor * value + (1 - factor) * other. Each weight is rounded to f32 by itself: 1.8f and 1 - 1.8f add up to
// a little more than 1, and where value and other are alike cut_off would show it.
struct Blend {
    explicit Blend(double factor)
        : value_weight(static_cast<float>(factor)), other_weight(static_cast<float>(1 - factor)) {}
    std::uint8_t operator()(float value, float other) const {
        return cut_off(value_weight * value + other_weight * other);
    }
    float value_weight, other_weight;
};

// For every value there is.
using Table = std::array<std::uint8_t, 256>;
Table blend_table(double factor, float other) {
    const Blend blend(factor);
    Table table{};
    for (std::size_t v = 0; v < table.size(); ++v) table[v] = blend(static_cast<float>(v), other);
    return table;
}

void look_up(const PixelImage& image, const Table& table) {
    const std::int64_t bytes = bytes_of(image);
    for (std::int64_t i = 0; i < bytes; ++i) image.pixels[i] = table[image.pixels[i]];
}

void look_up_channel(const PixelImage& image, std::int64_t channel, const Table& table) {
    const std::int64_t bytes = bytes_of(image);
    for (std::int64_t i = channel; i < bytes; i += image.geometry.channels)
        image.pixels[i] = table[image.pixels[i]];
}

std::uint8_t* scratch_of(const PixelImage& image) {
    image.scratch->resize(static_cast<std::size_t>(bytes_of(image)));
    return image.scratch->data();
}

std::array<std::int64_t, 256> histogram(const PixelImage& image, std::int64_t channel) {
    std::array<std::int64_t, 256> counts{};
    const std::int64_t bytes = bytes_of(image);
    for (std::int64_t i = channel; i < bytes; i += image.geometry.channels) ++counts[image.pixels[i]];
    return counts;
}

struct Hsv {
    float hue, saturation, value;
};

Hsv to_hsv(float r, float g, float b) {
    const float high = std::max({r, g, b}), low = std::min({r, g, b}), range = high - low;
    if (range == 0) return {0, 0, high};
    const float rc = (high - r) / range, gc = (high - g) / range, bc = (high - b) / range;
    const float sixths = high == r ? bc - gc : high == g ? 2 + rc - bc : 4 + gc - rc;
    const float hue = std::fmod(sixths / 6 + 1, 1.0f);
    return {hue, range / high, high};
}

void to_rgb(const Hsv& hsv, float rgb[3]) {
    const float sixths = std::floor(hsv.hue * 6);
    const float f = hsv.hue * 6 - sixths, v = hsv.value, s = hsv.saturation;
    const float p = std::clamp(v * (1 - s), 0.0f, 1.0f), q = std::clamp(v * (1 - s * f), 0.0f, 1.0f);
    const float t = std::clamp(v * (1 - s * (1 - f)), 0.0f, 1.0f);
    const float table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
    std::copy_n(table[static_cast<int>(sixths) % 6], 3, rgb);
}

}  // namespace

void adjust_brightness(const PixelImage& image, double factor) {
    look_up(image, blend_table(factor, 0));
}

void adjust_contrast(const PixelImage& image, double factor) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < image.num_pixels(); ++i) {
        const std::uint8_t* pixel = image.pixels + i * image.geometry.channels;
        sum += image.geometry.channels == 3 ? grey_of(pixel) : pixel[0];
    }
    look_up(image, blend_table(factor, static_cast<float>(static_cast<double>(sum) /
                                                          static_cast<double>(image.num_pixels()))));
}

void adjust_saturation(const PixelImage& image, double factor) {
    if (image.geometry.channels != 3) return;
    const Blend blend(factor);
    for (std::int64_t i = 0; i < image.num_pixels(); ++i) {
        std::uint8_t* pixel = image.pixels + 3 * i;
        const float grey = static_cast<float>(grey_of(pixel));
        for (int c = 0; c < 3; ++c) pixel[c] = blend(static_cast<float>(pixel[c]), grey);
    }
}

void adjust_hue(const PixelImage& image, double turn) {
    if (image.geometry.channels != 3) return;
    const float change = static_cast<float>(turn);
    for (std::int64_t i = 0; i < image.num_pixels(); ++i) {
        std::uint8_t* pixel = image.pixels + 3 * i;
        Hsv hsv = to_hsv(static_cast<float>(pixel[0]) / 255, static_cast<float>(pixel[1]) / 255,
                         static_cast<float>(pixel[2]) / 255);
        hsv.hue = hsv.hue + change - std::floor(hsv.hue + change);
        float rgb[3];
        to_rgb(hsv, rgb);
        for (int c = 0; c < 3; ++c) pixel[c] = cut_off(rgb[c] * 255);
    }
}

void adjust_sharpness(const PixelImage& image, double factor) {
    const Blend blend(factor);
    const ImageGeometry& g = image.geometry;
    if (g.height <= 2 || g.width <= 2) return;
    std::uint8_t* before = scratch_of(image);
    std::memcpy(before, image.pixels, static_cast<std::size_t>(g.bytes()));
    const std::int64_t row = g.width * g.channels, step = g.channels;
    for (std::int64_t y = 0; y < g.height; ++y) {
        for (std::int64_t x = 0; x < row; ++x) {
            const std::uint8_t* at = before + y * row + x;
            float blurred = static_cast<float>(*at);  // the border is not blurred
            if (y > 0 && y + 1 < g.height && x >= step && x + step < row) {
                const int sum = at[-row - step] + at[-row] + at[-row + step] + at[-step] + 5 * at[0] +
                                at[step] + at[row - step] + at[row] + at[row + step];
                blurred = std::nearbyint(static_cast<float>(sum) / 13);
            }
            image.pixels[y * row + x] = blend(static_cast<float>(*at), blurred);
        }
    }
}

void posterize(const PixelImage& image, int bits) {
    Table table{};
    for (std::size_t v = 0; v < table.size(); ++v)
        table[v] = static_cast<std::uint8_t>(v & (0xFFu << (8 - bits)));
    look_up(image, table);
}

void solarize(const PixelImage& image, float threshold) {
    Table table{};
    for (std::size_t v = 0; v < table.size(); ++v)
        table[v] = static_cast<std::uint8_t>(static_cast<float>(v) >= threshold ? 255 - v : v);
    look_up(image, table);
}

void autocontrast(const PixelImage& image) {
    for (std::int64_t c = 0; c < image.geometry.channels; ++c) {
        const auto counts = histogram(image, c);
        std::size_t low = 0, high = 255;
        while (low < 255 && counts[low] == 0) ++low;
        while (high > 0 && counts[high] == 0) --high;
        if (low >= high) continue;
        const float scale = 255.0f / static_cast<float>(high - low);
        Table table{};
        for (std::size_t v = low; v <= high; ++v) table[v] = cut_off(static_cast<float>(v - low) * scale);
        look_up_channel(image, c, table);
    }
}

void equalize(const PixelImage& image) {
    for (std::int64_t c = 0; c < image.geometry.channels; ++c) {
        const auto counts = histogram(image, c);
        std::size_t last = 255;
        while (last > 0 && counts[last] == 0) --last;
        const std::int64_t step = (image.num_pixels() - counts[last]) / 255;
        if (step == 0) continue;
        Table table{};
        std::int64_t below = 0;  // pixels of smaller values
        for (std::size_t v = 0; v < table.size(); ++v) {
            table[v] = static_cast<std::uint8_t>(
                v == 0 ? 0 : std::min<std::int64_t>((below + step / 2) / step, 255));
            below += counts[v];
        }
        look_up_channel(image, c, table);
    }
}

void transform_nearest(const PixelImage& image, const AffineMatrix& m) {
    const ImageGeometry& g = image.geometry;
    std::uint8_t* before = scratch_of(image);
    std::memcpy(before, image.pixels, static_cast<std::size_t>(g.bytes()));
    const double middle_x = static_cast<double>(g.width) / 2 - 0.5;
    const double middle_y = static_cast<double>(g.height) / 2 - 0.5;
    std::uint8_t* out = image.pixels;
    for (std::int64_t y = 0; y < g.height; ++y) {
        for (std::int64_t x = 0; x < g.width; ++x, out += g.channels) {
            const double dx = static_cast<double>(x) - middle_x, dy = static_cast<double>(y) - middle_y;
            const double from_x = std::nearbyint(m[0] * dx + m[1] * dy + m[2] + middle_x);
            const double from_y = std::nearbyint(m[3] * dx + m[4] * dy + m[5] + middle_y);
            if (from_x < 0 || from_y < 0 || from_x >= static_cast<double>(g.width) ||
                from_y >= static_cast<double>(g.height)) {
                std::fill_n(out, g.channels, std::uint8_t{0});
                continue;
            }
            const std::int64_t at =
                static_cast<std::int64_t>(from_y) * g.width + static_cast<std::int64_t>(from_x);
            std::copy_n(before + at * g.channels, g.channels, out);
        }
    }
}

// Shears leave the upper left corner where it is.
AffineMatrix shear_x(const ImageGeometry& geometry, double amount) {
    return {1, amount, amount * static_cast<double>(geometry.height) / 2, 0, 1, 0};
}
AffineMatrix shear_y(const ImageGeometry& geometry, double amount) {
    return {1, 0, 0, amount, 1, amount * static_cast<double>(geometry.width) / 2};
}
AffineMatrix translation(double x, double y) {
    return {1, 0, -x, 0, 1, -y};
}
AffineMatrix rotation(double degrees) {
    const double angle = degrees * 3.14159265358979323846 / 180;
    return {std::cos(angle), -std::sin(angle), 0, std::sin(angle), std::cos(angle), 0};
}

}  // namespace mpt
