// Changes of a picture's colours and shape in place, with torchvision's definitions for u8 tensors (values
// are cut off, not rounded, as there). Factors: 1 leaves the picture as it is.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dataset/image_source.h"

namespace mpt {

// Packed u8 (height, width, channels) with 1 or 3 channels, and a buffer of as many bytes for ops that need
// one.
struct PixelImage {
    std::uint8_t* pixels = nullptr;
    ImageGeometry geometry;
    std::vector<std::uint8_t>* scratch = nullptr;
    std::int64_t num_pixels() const { return geometry.height * geometry.width; }
};

void adjust_brightness(const PixelImage& image, double factor);
void adjust_contrast(const PixelImage& image, double factor);
void adjust_saturation(const PixelImage& image, double factor);  // nothing to do for grey
void adjust_hue(const PixelImage& image, double turn);           // in turns, -0.5..0.5
void adjust_sharpness(const PixelImage& image, double factor);
void posterize(const PixelImage& image, int bits);
void solarize(const PixelImage& image, float threshold);
void autocontrast(const PixelImage& image);
void equalize(const PixelImage& image);

// Output pixel (y, x), counted from the middle, takes the nearest input pixel at matrix * (x, y, 1); outside
// is black.
using AffineMatrix = std::array<double, 6>;  // x' = m0 x + m1 y + m2; y' = m3 x + m4 y + m5
void transform_nearest(const PixelImage& image, const AffineMatrix& matrix);
AffineMatrix shear_x(const ImageGeometry& geometry, double amount);
AffineMatrix shear_y(const ImageGeometry& geometry, double amount);
AffineMatrix translation(double x, double y);
AffineMatrix rotation(double degrees);  // counter-clockwise

// RandAugment (Cubuk et al. 2019) with torchvision's 14 ops and 31 magnitudes.
constexpr int kNumRandAugmentOps = 14;
const char* rand_augment_name(int op);
enum class Sign { kPlus, kMinus };
void apply_rand_augment(const PixelImage& image, int op, int magnitude, Sign sign);
bool is_signed(int op);

}  // namespace mpt
