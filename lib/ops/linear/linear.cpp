#include "ops/linear/linear.h"

#include "ops/accumulate/accumulate.h"
#include "ops/cost.h"
#include "ops/linear/rewrites.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

std::string print(const LinearAttributes& a) {
    return a.of_input == Pointwise::kIdentity ? "" : std::string("of_input=") + name_of(a.of_input);
}

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

std::vector<TensorType> infer_backward_data(const Attributes& attributes,
                                            std::span<const TensorType> inputs) {
    const Shape& g = inputs[0].shape;
    const Shape& w = inputs[1].shape;
    MPT_CHECK(g.rank() == 2 && w.rank() == 2 && g[1] == w[0],
              "linear_backward_data of " + to_string(g) + " with " + to_string(w));
    const TensorType grad_x{{g[0], w[1]}, inputs[0].dtype};
    const bool through = attributes.as<LinearAttributes>().of_input != Pointwise::kIdentity;
    MPT_CHECK(through == (inputs.size() > 2) && (!through || inputs[2] == grad_x),
              "linear_backward_data through an activation needs its input");
    return {grad_x};
}

std::vector<TensorType> infer_backward_weight(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& g = inputs[0].shape;
    const Shape& x = inputs[1].shape;
    MPT_CHECK(g.rank() == 2 && x.rank() == 2 && g[0] == x[0],
              "linear_backward_weight of " + to_string(g) + " with " + to_string(x));
    return {{{g[1], x[1]}, wide_of(inputs[0].dtype)}};
}

std::vector<TensorType> infer_accumulate(const Attributes& attributes, std::span<const TensorType> inputs) {
    const TensorType added = infer_backward_weight(attributes, inputs.subspan(1))[0];
    MPT_CHECK(inputs[0] == added, "linear_backward_weight_accumulate of " + to_string(added.shape) +
                                      " into " + to_string(inputs[0].shape));
    return {added};
}

std::vector<TensorType> infer_bias_accumulate(const Attributes& attributes,
                                              std::span<const TensorType> inputs) {
    const TensorType sum = infer_accumulate(attributes, inputs).front();
    return {sum, {{sum.shape[0]}, sum.dtype}};
}

void differentiate(GradientContext& context) {
    const Attributes& attributes = context.node.attributes;
    const ValueId grad = context.grad(), x = context.in(0), w = context.in(1);
    if (context.wants(0)) {
        std::vector<ValueId> inputs = {grad, w};
        if (attributes.as<LinearAttributes>().of_input != Pointwise::kIdentity) inputs.push_back(x);
        context.set(0, context.builder.add(linear_backward_data_op, attributes, inputs, "backward_data"));
    }
    if (context.wants(1))
        context.set(1,
                    context.builder.add(linear_backward_weight_op, attributes, {grad, x}, "backward_weight"));
    if (context.in(2) != kNone && context.wants(2))
        context.set(2, sum_rows(context.builder, context.grad(), "backward_bias"));
}

// Two per multiply-add: M * I * O in all three directions, and each input is a factor of it.
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    const double rows = static_cast<double>(in[0].shape[0]);
    return cost_with_flops(2.0 * rows * static_cast<double>(in[1].shape.num_elements()), in, out);
}
template <std::size_t grad_y>
Cost cost_backward_weight(const Attributes&, std::span<const TensorType> in,
                          std::span<const TensorType> out) {
    const double rows = static_cast<double>(in[grad_y].shape[0]);
    return cost_with_flops(2.0 * rows * static_cast<double>(out[0].shape.num_elements()), in, out);
}

// cuBLASLt multiplies fp8 whose rows are whole times 16 bytes. Rows of the batch are padded by their copies.
Fp8Product for_fp8(std::int64_t in_features, std::int64_t out_features) {
    Fp8Product product;
    if (in_features % 16 != 0 || out_features % 16 != 0)
        product.refusal = std::to_string(in_features) + " -> " + std::to_string(out_features) +
                          " features are no multiples of 16";
    return product;
}

Fp8Product forward_in_fp8(const Attributes&, std::span<const TensorType> in) {
    Fp8Product product = for_fp8(in[1].shape[1], in[1].shape[0]);
    product.a = {.input = 0};
    product.b = {.input = 1};
    product.bias = 2;
    return product;
}

Fp8Product backward_data_in_fp8(const Attributes&, std::span<const TensorType> in) {
    Fp8Product product = for_fp8(in[1].shape[1], in[1].shape[0]);
    product.a = {.input = 0, .gradient = true};
    product.b = {.input = 1, .transposed = true};
    return product;
}

Fp8Product backward_weight_in_fp8(const Attributes&, std::span<const TensorType> in) {
    Fp8Product product = for_fp8(in[1].shape[1], in[0].shape[1]);
    product.a = {.input = 0, .transposed = true, .gradient = true};
    product.b = {.input = 1, .transposed = true};
    return product;
}

std::vector<ValueId> decompose_accumulate(GraphBuilder& b, const Node& node) {
    const ValueId grad_w = b.add(linear_backward_weight_op, node.attributes, {node.inputs[1], node.inputs[2]},
                                 node.name + ".backward_weight");
    return {accumulate(b, node.inputs[0], grad_w, node.name + ".accumulate")};
}

std::vector<ValueId> decompose_bias_accumulate(GraphBuilder& b, const Node& node) {
    const ValueId sum =
        b.add(linear_backward_weight_accumulate_op, node.attributes, node.inputs, node.name + ".accumulate");
    return {sum, sum_rows(b, node.inputs[1], node.name + ".backward_bias")};
}

}  // namespace

const OpType linear_op = {
    .name = "linear",
    .precision = PrecisionClass::kNarrow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .differentiate = differentiate,
    .cost = cost,
    .in_fp8 = forward_in_fp8,
};

const OpType linear_backward_data_op = {
    .name = "linear_backward_data",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_backward_data,
    .cost = cost,
    .in_fp8 = backward_data_in_fp8,
};

const OpType linear_backward_weight_op = {
    .name = "linear_backward_weight",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_backward_weight,
    .cost = cost_backward_weight<0>,
    .in_fp8 = backward_weight_in_fp8,
};

const OpType linear_backward_weight_accumulate_op = {
    .name = "linear_backward_weight_accumulate",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_accumulate,
    .is_data_input = [](const Attributes&, int index) { return index > 0; },
    .cost = cost_backward_weight<1>,
    .must_alias = {{0, 0}},
    .decompose = decompose_accumulate,
};

const OpType linear_backward_weight_bias_accumulate_op = {
    .name = "linear_backward_weight_bias_accumulate",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_bias_accumulate,
    .is_data_input = [](const Attributes&, int index) { return index > 0; },
    .cost = cost_backward_weight<1>,
    .must_alias = {{0, 0}},
    .decompose = decompose_bias_accumulate,
};

ValueId linear(GraphBuilder& builder, ValueId x, ValueId w, ValueId bias, const std::string& name) {
    return builder.add(linear_op, LinearAttributes{}, {x, w, bias}, name);
}

ValueId linear_backward_data(GraphBuilder& builder, ValueId grad_y, ValueId w, const std::string& name) {
    return builder.add(linear_backward_data_op, LinearAttributes{}, {grad_y, w}, name);
}

ValueId linear_backward_weight(GraphBuilder& builder, ValueId grad_y, ValueId x, const std::string& name) {
    return builder.add(linear_backward_weight_op, LinearAttributes{}, {grad_y, x}, name);
}

void register_linear(OpTable& table) {
    table.add(linear_op);
    table.add(linear_backward_data_op);
    table.add(linear_backward_weight_op);
    table.add(linear_backward_weight_accumulate_op);
    table.add(linear_backward_weight_bias_accumulate_op);
    table.add(linear_takes_activation);
    table.add(linear_backward_data_takes_activation);
    table.add(linear_backward_weight_takes_accumulate);
    table.add(linear_backward_weight_takes_bias);
}

}  // namespace mpt
