// Pictures of 1 or 3 channels into the bytes of a file.
#pragma once

#include <cstdint>
#include <vector>

#include "dataset/pictures/picture.h"

namespace mpt {

// 4:2:0 below quality 90, as PIL; 4:4:4 from there on.
std::vector<std::uint8_t> encode_jpeg(const PictureView& picture, int quality);
std::vector<std::uint8_t> encode_png(const PictureView& picture);

}  // namespace mpt
