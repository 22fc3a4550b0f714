// image_normalize: x = images * scale + shift a channel, images u8 [N,H,W,C]; scale = 1 / (255 std) and
// shift = -mean / std for pixels in [0, 1]. No gradient.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct ImageNormalizeAttributes {
    std::vector<float> scale, shift;  // [C]
    DType dtype = DType::f32;         // of x; a rewrite narrows it when a cast follows
    bool operator==(const ImageNormalizeAttributes&) const = default;
};
std::string print(const ImageNormalizeAttributes& attributes);

extern const OpType image_normalize_op;

ValueId image_normalize(GraphBuilder& builder, ValueId images, ImageNormalizeAttributes attributes,
                        const std::string& name = "image_normalize");

}  // namespace mpt
