#include "ops/max_pool/max_pool.h"

#include <fmt/format.h>

#include "ops/cost.h"
#include "ops/max_pool/rewrites.h"

namespace mpt {

std::string print(const MaxPoolAttributes& a) {
    return fmt::format("window={} stride={} pad={}{}{}", a.window, a.stride, a.pad, a.affine ? " affine" : "",
                       a.relu ? " relu" : "");
}
std::string print(const MaxPoolBackwardAttributes& a) {
    return fmt::format("window={} stride={} pad={} height={} width={}", a.window, a.stride, a.pad, a.height,
                       a.width);
}

namespace {

template <typename A>
std::int64_t out_extent(std::int64_t in, const A& a) {
    // Every window must touch the image, and a place in it must fit u8.
    MPT_CHECK(a.stride > 0 && a.pad >= 0 && 2 * a.pad <= a.window && a.window <= 15,
              "max_pool with " + print(a));
    if (in + 2 * a.pad < a.window)
        throw Error(ExitCode::kUsage, fmt::format("max_pool: a window of {} does not fit an image of {} with "
                                                  "padding {}: use larger images or a smaller network",
                                                  a.window, in, a.pad));
    return (in + 2 * a.pad - a.window) / a.stride + 1;
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<MaxPoolAttributes>();
    const Shape& x = inputs[0].shape;
    MPT_CHECK(x.rank() == 4 && (a.affine ? inputs.size() == 3 && inputs[1].shape == Shape{x[3]} &&
                                               inputs[2].shape == Shape{x[3]}
                                         : inputs.size() == 1 && !a.relu),
              "max_pool of " + to_string(x) + " with " + print(a));
    const Shape y{x[0], out_extent(x[1], a), out_extent(x[2], a), x[3]};
    return {{y, inputs[0].dtype}, {y, DType::u8}};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<MaxPoolBackwardAttributes>();
    const Shape& g = inputs[0].shape;
    MPT_CHECK(g.rank() == 4 && inputs[1].shape == g && g[1] == out_extent(a.height, a) &&
                  g[2] == out_extent(a.width, a),
              "max_pool_backward of " + to_string(g));
    return {{{g[0], a.height, a.width, g[3]}, inputs[0].dtype}};
}

void differentiate(GradientContext& context) {
    const auto& a = context.node.attributes.as<MaxPoolAttributes>();
    const Shape x = context.builder.type(context.in(0)).shape;
    context.set(0, max_pool_backward(context.builder, context.grad(), context.out(1),
                                     {a.window, a.stride, a.pad, x[1], x[2]}, "backward"));
}

Cost cost(const Attributes& attributes, std::span<const TensorType> in, std::span<const TensorType> out) {
    const double window = static_cast<double>(attributes.as<MaxPoolAttributes>().window);
    return cost_with_flops(window * window * static_cast<double>(out[0].shape.num_elements()), in, out);
}

Cost cost_backward(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(static_cast<double>(in[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType max_pool_op = {
    .name = "max_pool",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost,
};

const OpType max_pool_backward_op = {
    .name = "max_pool_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .cost = cost_backward,
};

MaxPoolOutputs max_pool(GraphBuilder& builder, ValueId x, MaxPoolAttributes attributes,
                        const std::string& name) {
    const auto out = builder.node(max_pool_op, attributes, {x}, name);
    return {out[0], out[1]};
}

ValueId max_pool_backward(GraphBuilder& builder, ValueId grad_y, ValueId index,
                          MaxPoolBackwardAttributes attributes, const std::string& name) {
    return builder.add(max_pool_backward_op, attributes, {grad_y, index}, name);
}

void register_max_pool(OpTable& table) {
    table.add(max_pool_op);
    table.add(max_pool_backward_op);
    table.add(max_pool_takes_affine);
}

}  // namespace mpt
