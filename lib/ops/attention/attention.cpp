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

AttentionExtent::AttentionExtent(const AttentionLayout& layout, std::span<const TensorType> data,
                                 const AttentionAttributes& attributes)
    : causal(attributes.causal) {
    const Shape& q = data[static_cast<std::size_t>(layout.places[0].tensor)].shape;
    batch = q[0];
    queries = q[1];
    keys = data[static_cast<std::size_t>(layout.places[1].tensor)].shape[1];
    heads = q[-2];
    size = q[-1];
}

double AttentionExtent::scale() const {
    return 1 / std::sqrt(static_cast<double>(size));
}

std::int64_t AttentionExtent::num_seen(std::int64_t t, std::int64_t length) const {
    const std::int64_t given = std::min(length, keys);
    return std::max<std::int64_t>(0, causal ? std::min(given, t + keys - queries + 1) : given);
}

namespace {

constexpr AttentionLayout kSeparate = {3, {{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}}};
constexpr AttentionLayout kQkv = {1, {{{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}}};
constexpr AttentionLayout kKeyValue = {2, {{{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}}};

using Types = std::span<const TensorType>;

// [B,rows,parts,H,D], without `parts` where it is 1.
bool fits(const Shape& shape, const AttentionLayout::Place& place, const AttentionExtent& e,
          std::int64_t rows) {
    const Shape expected = place.parts == 1 ? Shape{e.batch, rows, e.heads, e.size}
                                            : Shape{e.batch, rows, place.parts, e.heads, e.size};
    return shape == expected;
}

// `optional` are lengths and step; an absent one is an f32 scalar here.
AttentionExtent checked_extent(const AttentionLayout& layout, const Attributes& attributes, Types data,
                               Types optional) {
    std::string shapes;
    bool fit = true;
    for (const TensorType& type : data) {
        shapes += (shapes.empty() ? "" : ", ") + to_string(type.shape);
        fit = fit && type.shape.rank() >= 4;
    }
    MPT_CHECK(fit, "attention of " + shapes);
    const AttentionExtent e(layout, data, attributes.as<AttentionAttributes>());
    for (std::size_t i = 0; i < 3; ++i)
        fit = fit && fits(data[static_cast<std::size_t>(layout.places[i].tensor)].shape, layout.places[i], e,
                          i == 0 ? e.queries : e.keys);
    MPT_CHECK(fit, "attention of " + shapes);
    MPT_CHECK(optional.empty() || optional[0].shape.rank() == 0 ||
                  optional[0] == (TensorType{{e.batch}, DType::i32}),
              "attention with lengths that are not i32 [B]");
    const double probability = attributes.as<AttentionAttributes>().dropout.probability;
    MPT_CHECK(probability == 0 || (probability > 0 && probability < 1 && optional.size() > 1 &&
                                   optional[1] == (TensorType{{}, DType::i32})),
              "attention with dropout " + std::to_string(probability) + " or a step that is not i32 []");
    return e;
}

template <const AttentionLayout& layout>
std::vector<TensorType> infer(const Attributes& attributes, Types inputs) {
    const AttentionExtent e = checked_extent(layout, attributes, inputs.first(layout.num_tensors),
                                             inputs.subspan(layout.num_tensors));
    const DType dtype = inputs[0].dtype;
    return {{{e.batch, e.queries, e.heads, e.size}, dtype}, {{e.batch, e.heads, e.queries}, wide_of(dtype)}};
}

template <const AttentionLayout& layout>
std::vector<TensorType> infer_backward(const Attributes& attributes, Types inputs) {
    const Types data = inputs.subspan(1, layout.num_tensors);
    const Types after = inputs.subspan(1 + layout.num_tensors);
    const AttentionExtent e = checked_extent(layout, attributes, data, after.subspan(2));
    const Shape o{e.batch, e.queries, e.heads, e.size};
    MPT_CHECK(
        inputs[0].shape == o && after[0].shape == o && after[1].shape == (Shape{e.batch, e.heads, e.queries}),
        "attention's gradient of outputs " + to_string(o) + " with others");
    return {data.begin(), data.end()};
}

template <const AttentionLayout& layout, const OpType& backward>
void differentiate(GradientContext& context) {
    std::vector<ValueId> inputs = {context.grad()};
    for (int i = 0; i < layout.num_tensors; ++i) inputs.push_back(context.in(i));
    inputs.insert(inputs.end(), {context.out(0), context.out(1), context.in(layout.num_tensors),
                                 context.in(layout.num_tensors + 1)});
    const auto gradients = context.builder.node(backward, context.node.attributes, inputs, "backward");
    for (int i = 0; i < layout.num_tensors; ++i) context.set(i, gradients[static_cast<std::size_t>(i)]);
}

// Two per multiply-add; a causal mask leaves about half of the products. An exponential counts as ten.
Cost cost_of_products(int products, const AttentionExtent& e, Types in, Types out) {
    const double pairs = static_cast<double>(e.batch * e.heads * e.queries) * static_cast<double>(e.keys);
    const double share = e.causal ? 0.5 : 1;
    return cost_with_flops(share * pairs * (2.0 * products * static_cast<double>(e.size) + 13), in, out);
}
template <const AttentionLayout& layout>
Cost cost(const Attributes& attributes, Types in, Types out) {
    const AttentionExtent e(layout, in, attributes.as<AttentionAttributes>());
    return cost_of_products(2, e, in, out);
}
template <const AttentionLayout& layout>
Cost cost_backward(const Attributes& attributes, Types in, Types out) {
    const AttentionExtent e(layout, in.subspan(1), attributes.as<AttentionAttributes>());
    return cost_of_products(5, e, in, out);
}

template <const AttentionLayout& layout, const OpType& backward>
OpType forward_op(std::string_view name) {
    return {
        .name = name,
        .precision = PrecisionClass::kNarrow,
        .infer = infer<layout>,
        .is_data_input = [](const Attributes&, int index) { return index < layout.num_tensors; },
        .differentiate = differentiate<layout, backward>,
        .cost = cost<layout>,
    };
}

template <const AttentionLayout& layout>
OpType backward_op(std::string_view name) {
    return {
        .name = name,
        .precision = PrecisionClass::kNarrow,
        .infer = infer_backward<layout>,
        .is_data_input = [](const Attributes&, int index) { return index <= layout.num_tensors + 1; },
        .cost = cost_backward<layout>,
    };
}

}  // namespace

const OpType attention_op = forward_op<kSeparate, attention_backward_op>("attention");
const OpType attention_backward_op = backward_op<kSeparate>("attention_backward");
const OpType qkv_attention_op = forward_op<kQkv, qkv_attention_backward_op>("qkv_attention");
const OpType qkv_attention_backward_op = backward_op<kQkv>("qkv_attention_backward");
const OpType cross_attention_op = forward_op<kKeyValue, cross_attention_backward_op>("cross_attention");
const OpType cross_attention_backward_op = backward_op<kKeyValue>("cross_attention_backward");

const AttentionLayout& attention_layout(const OpType& op) {
    if (&op == &qkv_attention_op || &op == &qkv_attention_backward_op) return kQkv;
    if (&op == &cross_attention_op || &op == &cross_attention_backward_op) return kKeyValue;
    MPT_CHECK(&op == &attention_op || &op == &attention_backward_op,
              std::string(op.name) + " is no attention");
    return kSeparate;
}

AttentionOutputs attention(GraphBuilder& builder, const AttentionInputs& in, AttentionAttributes attributes,
                           const std::string& name) {
    const auto out = builder.node(attention_op, attributes, {in.q, in.k, in.v, in.lengths, in.step}, name);
    return {out[0], out[1]};
}

AttentionOutputs qkv_attention(GraphBuilder& builder, const QkvAttentionInputs& in,
                               AttentionAttributes attributes, const std::string& name) {
    const auto out = builder.node(qkv_attention_op, attributes, {in.qkv, in.lengths, in.step}, name);
    return {out[0], out[1]};
}

AttentionOutputs cross_attention(GraphBuilder& builder, const CrossAttentionInputs& in,
                                 AttentionAttributes attributes, const std::string& name) {
    const auto out = builder.node(cross_attention_op, attributes, {in.q, in.kv, in.lengths, in.step}, name);
    return {out[0], out[1]};
}

void register_attention(OpTable& table) {
    for (const OpType* op : {&attention_op, &attention_backward_op, &qkv_attention_op,
                             &qkv_attention_backward_op, &cross_attention_op, &cross_attention_backward_op})
        table.add(*op);
}

}  // namespace mpt
