// RandAugment's ops by number, in torchvision's order and with its ranges of magnitudes 0..30.
#include <cmath>

#include "core/error.h"
#include "dataset/pictures/pixel_ops.h"

namespace mpt {
namespace {

constexpr int kLastMagnitude = 30;
constexpr double kMostShear = 0.3, kMostDegrees = 30, kMostFactor = 0.9;
constexpr double kMostShift = 150.0 / 331.0;  // of a side

struct Op {
    const char* name;
    bool is_signed;
    void (*apply)(const PixelImage& image, int magnitude, double sign);  // sign: 1 or -1
};

// The magnitude in a range of 0..most, rounded as torch.linspace does in f32: counted from the nearer end.
double level(int magnitude, double most) {
    const float last = static_cast<float>(most), step = last / kLastMagnitude;
    if (magnitude < kLastMagnitude / 2) return step * static_cast<float>(magnitude);
    return last - step * static_cast<float>(kLastMagnitude - magnitude);
}

template <void (*adjust)(const PixelImage&, double)>
void by_factor(const PixelImage& image, int magnitude, double sign) {
    adjust(image, 1 + sign * level(magnitude, kMostFactor));
}

const Op kOps[kNumRandAugmentOps] = {
    {"identity", false, [](const PixelImage&, int, double) {}},
    {"shear_x", true,
     [](const PixelImage& image, int magnitude, double sign) {
         transform_nearest(image, shear_x(image.geometry, sign * level(magnitude, kMostShear)));
     }},
    {"shear_y", true,
     [](const PixelImage& image, int magnitude, double sign) {
         transform_nearest(image, shear_y(image.geometry, sign * level(magnitude, kMostShear)));
     }},
    {"translate_x", true,
     [](const PixelImage& image, int magnitude, double sign) {
         const double most = kMostShift * static_cast<double>(image.geometry.width);
         transform_nearest(image, translation(std::trunc(sign * level(magnitude, most)), 0));
     }},
    {"translate_y", true,
     [](const PixelImage& image, int magnitude, double sign) {
         const double most = kMostShift * static_cast<double>(image.geometry.height);
         transform_nearest(image, translation(0, std::trunc(sign * level(magnitude, most))));
     }},
    {"rotate", true,
     [](const PixelImage& image, int magnitude, double sign) {
         transform_nearest(image, rotation(sign * level(magnitude, kMostDegrees)));
     }},
    {"brightness", true, by_factor<adjust_brightness>},
    {"color", true, by_factor<adjust_saturation>},
    {"contrast", true, by_factor<adjust_contrast>},
    {"sharpness", true, by_factor<adjust_sharpness>},
    {"posterize", false,
     [](const PixelImage& image, int magnitude, double) {
         posterize(image, 8 - static_cast<int>(std::nearbyint(magnitude * 4.0 / kLastMagnitude)));
     }},
    {"solarize", false,
     [](const PixelImage& image, int magnitude, double) {
         solarize(image, static_cast<float>(255 - 8.5 * magnitude));
     }},
    {"autocontrast", false, [](const PixelImage& image, int, double) { autocontrast(image); }},
    {"equalize", false, [](const PixelImage& image, int, double) { equalize(image); }},
};

}  // namespace

const char* rand_augment_name(int op) {
    return kOps[op].name;
}

bool is_signed(int op) {
    return kOps[op].is_signed;
}

void apply_rand_augment(const PixelImage& image, int op, int magnitude, Sign sign) {
    MPT_CHECK(op >= 0 && op < kNumRandAugmentOps && magnitude >= 0 && magnitude <= kLastMagnitude);
    kOps[op].apply(image, magnitude, sign == Sign::kMinus ? -1 : 1);
}

}  // namespace mpt
