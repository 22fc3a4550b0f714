// image_normalize: x = images * scale + shift a channel, images u8 [N,H,W,C]; scale = 1 / (255 std) and
// shift = -mean / std for pixels in [0, 1]. x may have more channels, which are zero. No gradient.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct ImageNormalizeAttributes {
    std::vector<float> scale, shift;  // [C]
    DType dtype = DType::f32;         // of x; a rewrite narrows it when a cast follows
    std::int64_t channels = 0;        // of x; 0: those of the images
    bool operator==(const ImageNormalizeAttributes&) const = default;
};
std::string print(const ImageNormalizeAttributes& attributes);

extern const OpType image_normalize_op;

ValueId image_normalize(GraphBuilder& builder, ValueId images, ImageNormalizeAttributes attributes,
                        const std::string& name = "image_normalize");

}  // namespace mpt
