#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/cost.h"

namespace mpt {

std::string print(const AttentionAttributes& a) {
    const std::string mask = a.causal ? "causal" : "";
    if (a.dropout.probability == 0) return mask;
    return mask + (mask.empty() ? "" : " ") + print(a.dropout);
}

double AttentionExtent::scale() const {
    return 1 / std::sqrt(static_cast<double>(size));
}

std::int64_t AttentionExtent::num_seen(std::int64_t t, std::int64_t length) const {
    const std::int64_t given = std::min(length, keys);
    return std::max<std::int64_t>(0, causal ? std::min(given, t + keys - queries + 1) : given);
}

namespace {

// `optional` are lengths and step; an absent one is an f32 scalar here.
void check_shapes(const Attributes& attributes, std::span<const TensorType> qkv,
                  std::span<const TensorType> optional) {
    const Shape& q = qkv[0].shape;
    const Shape& k = qkv[1].shape;
    const bool fit =
        q.rank() == 4 && k.rank() == 4 && qkv[2].shape == k && q[0] == k[0] && q[2] == k[2] && q[3] == k[3];
    MPT_CHECK(fit,
              "attention of q " + to_string(q) + ", k " + to_string(k) + " and v " + to_string(qkv[2].shape));
    MPT_CHECK(
        optional.empty() || optional[0].shape.rank() == 0 || optional[0] == (TensorType{{q[0]}, DType::i32}),
        "attention with lengths that are not i32 [B]");
    const double probability = attributes.as<AttentionAttributes>().dropout.probability;
    MPT_CHECK(probability == 0 || (probability > 0 && probability < 1 && optional.size() > 1 &&
                                   optional[1] == (TensorType{{}, DType::i32})),
              "attention with dropout " + std::to_string(probability) + " or a step that is not i32 []");
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    check_shapes(attributes, inputs.first(3), inputs.subspan(3));
    const Shape& q = inputs[0].shape;
    return {inputs[0], {{q[0], q[2], q[1]}, wide_of(inputs[0].dtype)}};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    check_shapes(attributes, inputs.subspan(1, 3), inputs.subspan(6));
    const Shape& q = inputs[1].shape;
    MPT_CHECK(inputs[0].shape == q && inputs[4].shape == q && inputs[5].shape == (Shape{q[0], q[2], q[1]}),
              "attention_backward of " + to_string(q) + " with outputs of other shapes");
    return {inputs[1], inputs[2], inputs[3]};
}

void differentiate(GradientContext& context) {
    const AttentionGradients g =
        attention_backward(context.builder,
                           {context.grad(), context.in(0), context.in(1), context.in(2), context.out(0),
                            context.out(1), context.in(3), context.in(4)},
                           context.node.attributes.as<AttentionAttributes>(), "backward");
    context.set(0, g.grad_q);
    context.set(1, g.grad_k);
    context.set(2, g.grad_v);
}

// Two per multiply-add; a causal mask leaves about half of the products. An exponential counts as ten.
Cost cost_of_products(int products, const Attributes& attributes, const Shape& q, const Shape& k,
                      std::span<const TensorType> in, std::span<const TensorType> out) {
    const double pairs = static_cast<double>(q[0] * q[2] * q[1]) * static_cast<double>(k[1]);
    const double share = attributes.as<AttentionAttributes>().causal ? 0.5 : 1;
    return cost_with_flops(share * pairs * (2.0 * products * static_cast<double>(q[3]) + 13), in, out);
}
Cost cost(const Attributes& attributes, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_of_products(2, attributes, in[0].shape, in[1].shape, in, out);
}
Cost cost_backward(const Attributes& attributes, std::span<const TensorType> in,
                   std::span<const TensorType> out) {
    return cost_of_products(5, attributes, in[1].shape, in[2].shape, in, out);
}

}  // namespace

const OpType attention_op = {
    .name = "attention",
    .precision = PrecisionClass::kNarrow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index <= 2; },
    .differentiate = differentiate,
    .cost = cost,
};

const OpType attention_backward_op = {
    .name = "attention_backward",
    .precision = PrecisionClass::kNarrow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index <= 4; },
    .cost = cost_backward,
};

AttentionOutputs attention(GraphBuilder& builder, const AttentionInputs& in, AttentionAttributes attributes,
                           const std::string& name) {
    const auto out = builder.node(attention_op, attributes, {in.q, in.k, in.v, in.lengths, in.step}, name);
    return {out[0], out[1]};
}

AttentionGradients attention_backward(GraphBuilder& builder, const AttentionBackwardInputs& in,
                                      AttentionAttributes attributes, const std::string& name) {
    const auto out =
        builder.node(attention_backward_op, attributes,
                     {in.grad_o, in.q, in.k, in.v, in.o, in.logsumexp, in.lengths, in.step}, name);
    return {out[0], out[1], out[2]};
}

void register_attention(OpTable& table) {
    table.add(attention_op);
    table.add(attention_backward_op);
}

}  // namespace mpt
