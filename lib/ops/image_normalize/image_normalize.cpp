#include "ops/image_normalize/image_normalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/cost.h"
#include "ops/image_normalize/rewrites.h"

namespace mpt {

std::string print(const ImageNormalizeAttributes& a) {
    return fmt::format("scale={} shift={} to={}", fmt::join(a.scale, ","), fmt::join(a.shift, ","),
                       name_of(a.dtype)) +
           (a.channels == 0 ? "" : fmt::format(" channels={}", a.channels));
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<ImageNormalizeAttributes>();
    const Shape& images = inputs[0].shape;
    MPT_CHECK(images.rank() == 4 && inputs[0].dtype == DType::u8 && is_float(a.dtype),
              "image_normalize of " + to_string(images));
    const std::size_t channels = static_cast<std::size_t>(images[3]);
    MPT_CHECK(a.scale.size() == channels && a.shift.size() == channels &&
                  (a.channels == 0 || a.channels >= images[3]),
              "image_normalize of " + to_string(images) + " with " + print(a));
    return {{{images[0], images[1], images[2], a.channels == 0 ? images[3] : a.channels}, a.dtype}};
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(2.0 * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType image_normalize_op = {
    .name = "image_normalize",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .cost = cost,
};

ValueId image_normalize(GraphBuilder& builder, ValueId images, ImageNormalizeAttributes attributes,
                        const std::string& name) {
    return builder.add(image_normalize_op, std::move(attributes), {images}, name);
}

void register_image_normalize(OpTable& table) {
    table.add(image_normalize_op);
    table.add(image_normalize_takes_cast);
    table.add(image_normalize_pads_channels);
}

}  // namespace mpt
