#include "ops/linear/linear.h"

#include "ops/cost.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    MPT_CHECK(x.rank() == 2 && w.rank() == 2 && x[1] == w[1],
              "linear of " + to_string(x) + " with " + to_string(w));
    // An absent bias is a scalar here.
    MPT_CHECK(inputs.size() < 3 || inputs[2].shape.rank() == 0 || inputs[2].shape == Shape{w[0]},
              "linear with a bias that is not [out]");
    return {{{x[0], w[0]}, inputs[0].dtype}};
}

std::vector<TensorType> infer_backward_data(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& g = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    MPT_CHECK(g.rank() == 2 && w.rank() == 2 && g[1] == w[0],
              "linear_backward_data of " + to_string(g) + " with " + to_string(w));
    return {{{g[0], w[1]}, inputs[0].dtype}};
}

std::vector<TensorType> infer_backward_weight(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& g = inputs[0].shape;
    const Shape& x = inputs[1].shape;
    MPT_CHECK(g.rank() == 2 && x.rank() == 2 && g[0] == x[0],
              "linear_backward_weight of " + to_string(g) + " with " + to_string(x));
    return {{{g[1], x[1]}, wide_of(inputs[0].dtype)}};
}

void differentiate(GradientContext& context) {
    if (context.wants(0))
        context.set(0, linear_backward_data(context.builder, context.grad(), context.in(1), "backward_data"));
    if (context.wants(1))
        context.set(
            1, linear_backward_weight(context.builder, context.grad(), context.in(0), "backward_weight"));
    if (context.in(2) != kNone && context.wants(2))
        context.set(2, sum_rows(context.builder, context.grad(), "backward_bias"));
}

// Two per multiply-add: M * I * O in all three directions, and each input is a factor of it.
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    const double rows = static_cast<double>(in[0].shape[0]);
    return cost_with_flops(2.0 * rows * static_cast<double>(in[1].shape.num_elements()), in, out);
}
Cost cost_backward_weight(const Attributes&, std::span<const TensorType> in,
                          std::span<const TensorType> out) {
    const double rows = static_cast<double>(in[0].shape[0]);
    return cost_with_flops(2.0 * rows * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType linear_op = {
    .name = "linear",
    .precision = PrecisionClass::kNarrow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .differentiate = differentiate,
    .cost = cost,
};

const OpType linear_backward_data_op = {
    .name = "linear_backward_data",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_backward_data,
    .cost = cost,
};

const OpType linear_backward_weight_op = {
    .name = "linear_backward_weight",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_backward_weight,
    .cost = cost_backward_weight,
};

ValueId linear(GraphBuilder& builder, ValueId x, ValueId w, ValueId bias, const std::string& name) {
    return builder.add(linear_op, {}, {x, w, bias}, name);
}

ValueId linear_backward_data(GraphBuilder& builder, ValueId grad_y, ValueId w, const std::string& name) {
    return builder.add(linear_backward_data_op, {}, {grad_y, w}, name);
}

ValueId linear_backward_weight(GraphBuilder& builder, ValueId grad_y, ValueId x, const std::string& name) {
    return builder.add(linear_backward_weight_op, {}, {grad_y, x}, name);
}

void register_linear(OpTable& table) {
    table.add(linear_op);
    table.add(linear_backward_data_op);
    table.add(linear_backward_weight_op);
}

}  // namespace mpt
