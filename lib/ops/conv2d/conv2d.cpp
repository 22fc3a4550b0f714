#include "ops/conv2d/conv2d.h"

#include <fmt/format.h>

#include "ops/cost.h"

namespace mpt {

std::string print(const Conv2dAttributes& a) {
    return fmt::format("stride={} pad={}", a.stride, a.pad);
}
std::string print(const Conv2dBackwardDataAttributes& a) {
    return fmt::format("stride={} pad={} height={} width={}", a.stride, a.pad, a.height, a.width);
}
std::string print(const Conv2dBackwardWeightAttributes& a) {
    return fmt::format("stride={} pad={} kernel={}x{}", a.stride, a.pad, a.kernel_h, a.kernel_w);
}

namespace {

std::int64_t out_extent(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    if (in + 2 * pad < kernel)
        throw Error(
            ExitCode::kUsage,
            fmt::format("conv2d: a window of {} does not fit an image of {} with padding {}: use larger "
                        "images or a smaller network",
                        kernel, in, pad));
    return (in + 2 * pad - kernel) / stride + 1;
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<Conv2dAttributes>();
    const Shape& x = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    MPT_CHECK(x.rank() == 4 && w.rank() == 4 && x[3] == w[3] && a.stride > 0 && a.pad >= 0,
              "conv2d of " + to_string(x) + " with " + to_string(w));
    return {{{x[0], out_extent(x[1], w[1], a.stride, a.pad), out_extent(x[2], w[2], a.stride, a.pad), w[0]},
             inputs[0].dtype}};
}

std::vector<TensorType> infer_backward_data(const Attributes& attributes,
                                            std::span<const TensorType> inputs) {
    const auto& a = attributes.as<Conv2dBackwardDataAttributes>();
    const Shape& g = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    MPT_CHECK(g.rank() == 4 && w.rank() == 4 && g[3] == w[0] &&
                  g[1] == out_extent(a.height, w[1], a.stride, a.pad) &&
                  g[2] == out_extent(a.width, w[2], a.stride, a.pad),
              "conv2d_backward_data of " + to_string(g) + " with " + to_string(w));
    return {{{g[0], a.height, a.width, w[3]}, inputs[0].dtype}};
}

std::vector<TensorType> infer_backward_weight(const Attributes& attributes,
                                              std::span<const TensorType> inputs) {
    const auto& a = attributes.as<Conv2dBackwardWeightAttributes>();
    const Shape& g = inputs[0].shape;
    const Shape& x = inputs[1].shape;
    MPT_CHECK(g.rank() == 4 && x.rank() == 4 && g[0] == x[0] &&
                  g[1] == out_extent(x[1], a.kernel_h, a.stride, a.pad) &&
                  g[2] == out_extent(x[2], a.kernel_w, a.stride, a.pad),
              "conv2d_backward_weight of " + to_string(g) + " with " + to_string(x));
    return {{{g[3], a.kernel_h, a.kernel_w, x[3]}, wide_of(inputs[0].dtype)}};
}

void differentiate(GradientContext& context) {
    const auto& a = context.node.attributes.as<Conv2dAttributes>();
    const Shape x = context.builder.type(context.in(0)).shape;
    const Shape w = context.builder.type(context.in(1)).shape;
    if (context.wants(0))
        context.set(0, conv2d_backward_data(context.builder, context.grad(), context.in(1),
                                            {a.stride, a.pad, x[1], x[2]}, "backward_data"));
    if (context.wants(1))
        context.set(1, conv2d_backward_weight(context.builder, context.grad(), context.in(0),
                                              {a.stride, a.pad, w[1], w[2]}, "backward_weight"));
}

// Two per multiply-add: output pixels times the weight's elements, in all three directions.
double product_flops(const Shape& y, const Shape& w) {
    return 2.0 * static_cast<double>(y[0] * y[1] * y[2]) * static_cast<double>(w.num_elements());
}
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(product_flops(out[0].shape, in[1].shape), in, out);
}
Cost cost_backward_data(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(product_flops(in[0].shape, in[1].shape), in, out);
}
Cost cost_backward_weight(const Attributes&, std::span<const TensorType> in,
                          std::span<const TensorType> out) {
    return cost_with_flops(product_flops(in[0].shape, out[0].shape), in, out);
}

}  // namespace

const OpType conv2d_op = {
    .name = "conv2d",
    .precision = PrecisionClass::kNarrow,
    .infer = infer,
    .differentiate = differentiate,
    .cost = cost,
};

const OpType conv2d_backward_data_op = {
    .name = "conv2d_backward_data",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_backward_data,
    .cost = cost_backward_data,
};

const OpType conv2d_backward_weight_op = {
    .name = "conv2d_backward_weight",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_backward_weight,
    .cost = cost_backward_weight,
};

ValueId conv2d(GraphBuilder& builder, ValueId x, ValueId w, Conv2dAttributes attributes,
               const std::string& name) {
    return builder.add(conv2d_op, attributes, {x, w}, name);
}

ValueId conv2d_backward_data(GraphBuilder& builder, ValueId grad_y, ValueId w,
                             Conv2dBackwardDataAttributes attributes, const std::string& name) {
    return builder.add(conv2d_backward_data_op, attributes, {grad_y, w}, name);
}

ValueId conv2d_backward_weight(GraphBuilder& builder, ValueId grad_y, ValueId x,
                               Conv2dBackwardWeightAttributes attributes, const std::string& name) {
    return builder.add(conv2d_backward_weight_op, attributes, {grad_y, x}, name);
}

void register_conv2d(OpTable& table) {
    table.add(conv2d_op);
    table.add(conv2d_backward_data_op);
    table.add(conv2d_backward_weight_op);
}

}  // namespace mpt
