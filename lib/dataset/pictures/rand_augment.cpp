// RandAugment's ops by number, in torchvision's order and with its ranges of magnitudes 0..30.
#include <cmath>

#include "core/error.h"
#include "dataset/pictures/pixel_ops.h"

namespace mpt {
namespace {

constexpr double kLastMagnitude = 30;
constexpr double kMostShear = 0.3, kMostDegrees = 30, kMostFactor = 0.9;
constexpr double kMostShift = 150.0 / 331.0;  // of a side

struct Op {
    const char* name;
    bool is_signed;
    // share: 0..1, the magnitude in its range; sign: 1 or -1.
    void (*apply)(const PixelImage& image, double share, double sign);
};

template <void (*adjust)(const PixelImage&, float)>
void by_factor(const PixelImage& image, double share, double sign) {
    adjust(image, static_cast<float>(1 + sign * share * kMostFactor));
}

const Op kOps[kNumRandAugmentOps] = {
    {"identity", false, [](const PixelImage&, double, double) {}},
    {"shear_x", true,
     [](const PixelImage& image, double share, double sign) {
         transform_nearest(image, shear_x(image.geometry, sign * share * kMostShear));
     }},
    {"shear_y", true,
     [](const PixelImage& image, double share, double sign) {
         transform_nearest(image, shear_y(image.geometry, sign * share * kMostShear));
     }},
    {"translate_x", true,
     [](const PixelImage& image, double share, double sign) {
         const double most = kMostShift * static_cast<double>(image.geometry.width);
         transform_nearest(image, translation(std::trunc(sign * share * most), 0));
     }},
    {"translate_y", true,
     [](const PixelImage& image, double share, double sign) {
         const double most = kMostShift * static_cast<double>(image.geometry.height);
         transform_nearest(image, translation(0, std::trunc(sign * share * most)));
     }},
    {"rotate", true,
     [](const PixelImage& image, double share, double sign) {
         transform_nearest(image, rotation(sign * share * kMostDegrees));
     }},
    {"brightness", true, by_factor<adjust_brightness>},
    {"color", true, by_factor<adjust_saturation>},
    {"contrast", true, by_factor<adjust_contrast>},
    {"sharpness", true, by_factor<adjust_sharpness>},
    {"posterize", false,
     [](const PixelImage& image, double share, double) {
         posterize(image, 8 - static_cast<int>(std::nearbyint(share * 4)));
     }},
    {"solarize", false,
     [](const PixelImage& image, double share, double) {
         solarize(image, static_cast<float>(255 * (1 - share)));
     }},
    {"autocontrast", false, [](const PixelImage& image, double, double) { autocontrast(image); }},
    {"equalize", false, [](const PixelImage& image, double, double) { equalize(image); }},
};

}  // namespace

const char* rand_augment_name(int op) {
    return kOps[op].name;
}

bool is_signed(int op) {
    return kOps[op].is_signed;
}

void apply_rand_augment(const PixelImage& image, int op, int magnitude, Sign sign) {
    MPT_CHECK(op >= 0 && op < kNumRandAugmentOps && magnitude >= 0 && magnitude <= 30);
    kOps[op].apply(image, magnitude / kLastMagnitude, sign == Sign::kMinus ? -1 : 1);
}

}  // namespace mpt
