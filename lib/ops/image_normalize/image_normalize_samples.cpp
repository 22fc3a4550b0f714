#include "ops/image_normalize/image_normalize.h"
#include "ops/samples.h"

namespace mpt {

void register_image_normalize_samples(SampleTable& table) {
    const ImageNormalizeAttributes grey{{0.0139f}, {-0.81f}};
    const ImageNormalizeAttributes colour{{0.01712f, 0.01751f, 0.01743f}, {-2.118f, -2.036f, -1.804f}};
    const std::vector<std::pair<Shape, ImageNormalizeAttributes>> cases = {
        {{1, 1, 1, 1}, grey}, {{2, 28, 28, 1}, grey}, {{2, 5, 7, 3}, colour}, {{3, 32, 32, 3}, colour}};
    for (const auto& [shape, attributes] : cases)
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
            ImageNormalizeAttributes typed = attributes;
            typed.dtype = dtype;
            SampleInput images{shape, 0, 255};
            images.kind = SampleInput::Kind::kBytes;
            table.add({to_string(shape), &image_normalize_op, typed, {images}});
            typed.channels = dtype == DType::bf16 ? 8 : 4;
            table.add({to_string(shape), &image_normalize_op, typed, {images}});
        }
}

}  // namespace mpt
