#include "ops/global_avg_pool/global_avg_pool.h"

#include <fmt/format.h>

#include "ops/cost.h"

namespace mpt {

std::string print(const GlobalAvgPoolBackwardAttributes& a) {
    return fmt::format("height={} width={}", a.height, a.width);
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    MPT_CHECK(x.rank() == 4, "global_avg_pool of " + to_string(x));
    return {{{x[0], x[3]}, inputs[0].dtype}};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<GlobalAvgPoolBackwardAttributes>();
    const Shape& g = inputs[0].shape;
    MPT_CHECK(g.rank() == 2 && a.height > 0 && a.width > 0, "global_avg_pool_backward of " + to_string(g));
    return {{{g[0], a.height, a.width, g[1]}, inputs[0].dtype}};
}

void differentiate(GradientContext& context) {
    const Shape x = context.builder.type(context.in(0)).shape;
    context.set(0, global_avg_pool_backward(context.builder, context.grad(), {x[1], x[2]}, "backward"));
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(static_cast<double>(in[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType global_avg_pool_op = {
    .name = "global_avg_pool",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .differentiate = differentiate,
    .cost = cost,
};

const OpType global_avg_pool_backward_op = {
    .name = "global_avg_pool_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
};

ValueId global_avg_pool(GraphBuilder& builder, ValueId x, const std::string& name) {
    return builder.add(global_avg_pool_op, {}, {x}, name);
}

ValueId global_avg_pool_backward(GraphBuilder& builder, ValueId grad_y,
                                 GlobalAvgPoolBackwardAttributes attributes, const std::string& name) {
    return builder.add(global_avg_pool_backward_op, attributes, {grad_y}, name);
}

void register_global_avg_pool(OpTable& table) {
    table.add(global_avg_pool_op);
    table.add(global_avg_pool_backward_op);
}

}  // namespace mpt
