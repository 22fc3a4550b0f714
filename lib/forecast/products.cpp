#include "forecast/products.h"

#include <algorithm>
#include <span>

#include "graph/builder.h"
#include "graph/op.h"
#include "ops/attention/attention.h"
#include "ops/conv2d/conv2d.h"
#include "ops/linear/linear.h"
#include "ops/linear_fp8/linear_fp8.h"

namespace mpt {

namespace {

using Kind = Product::Kind;
using Source = Product::Source;

Product convolution(const Graph& graph, const Node& node) {
    Product product;
    product.source = Source::kConvolution;
    const Shape& a = graph.type(node.inputs[0]).shape;
    const Shape& out = graph.type(node.outputs[0]).shape;
    if (node.op == &conv2d_backward_weight_op) {  // grad_w[K,R,S,C] from grad_y[N,P,Q,K]
        product.kind = Kind::kBackwardWeight;
        product.m = out[0];
        product.n = out[1] * out[2] * out[3];
        product.k = a[0] * a[1] * a[2];
        product.in_features = out[3];
        product.out_features = out[0];
    } else {
        const Shape& w = graph.type(node.inputs[1]).shape;
        const bool forward = node.op == &conv2d_op;
        product.kind = forward ? Kind::kForward : Kind::kBackwardData;
        // The data gradient of a strided convolution reads each grad_y once: its products are those of y's
        // pixels.
        const Shape& y = forward ? out : a;
        product.m = y[0] * y[1] * y[2];
        product.n = forward ? w[0] : w[1] * w[2] * w[3];
        product.k = forward ? w[1] * w[2] * w[3] : w[0];
        product.in_features = w[3];
        product.out_features = w[0];
    }
    product.batch = a[0];
    product.operand = graph.type(node.inputs[0]).dtype;
    return product;
}

Product linear_product(const Graph& graph, const Node& node) {
    Product product;
    const Shape& a = graph.type(node.inputs[0]).shape;
    const Shape& b = graph.type(node.inputs[1]).shape;
    if (node.op == &linear_backward_weight_op) {  // grad_y [M, O], x [M, I]
        product.kind = Kind::kBackwardWeight;
        product.m = product.out_features = a[1];
        product.n = product.in_features = b[1];
        product.k = a[0];
    } else {  // w [O, I]
        product.kind = node.op == &linear_op ? Kind::kForward : Kind::kBackwardData;
        product.m = a[0];
        product.n = product.kind == Kind::kForward ? b[0] : b[1];
        product.k = product.kind == Kind::kForward ? b[1] : b[0];
        product.out_features = b[0];
        product.in_features = b[1];
    }
    product.batch = a[0];
    product.operand = graph.type(node.inputs[0]).dtype;
    return product;
}

// All three have one form, d[m,n] of a[m,k] and b[n,k]: phase and type of a tell which it is.
Product fp8_product(const Graph& graph, const Node& node) {
    Product product;
    const TensorType& a = graph.type(node.inputs[0]);
    const Shape& b = graph.type(node.inputs[1]).shape;
    product.m = a.shape[0];
    product.n = b[0];
    product.k = a.shape[1];
    product.fp8 = true;
    product.operand = DType::bf16;  // where there is no fp8
    const bool weight = graph.type(node.outputs[0]).dtype == DType::f32;
    product.kind = weight                   ? Kind::kBackwardWeight
                   : a.dtype == DType::e5m2 ? Kind::kBackwardData
                                            : Kind::kForward;
    product.out_features = product.kind == Kind::kForward ? product.n : weight ? product.m : product.k;
    product.in_features = product.kind == Kind::kForward ? product.k : product.n;
    product.batch = weight ? product.k : product.m;
    return product;
}

bool is_attention(const OpType* op) {
    return op == &attention_op || op == &qkv_attention_op || op == &cross_attention_op;
}
bool is_attention_backward(const OpType* op) {
    return op == &attention_backward_op || op == &qkv_attention_backward_op ||
           op == &cross_attention_backward_op;
}

// Q K^T and P V, five products backward; all heads are products of their own.
Product attention_product(const Graph& graph, const Node& node) {
    const bool forward = is_attention(node.op);
    const std::size_t first = forward ? 0 : 1;  // backward, the gradient of o comes first
    const AttentionLayout& layout = attention_layout(*node.op);
    const std::vector<TensorType> types = input_types(graph, node);
    const auto& attributes = node.attributes.as<AttentionAttributes>();
    const AttentionExtent extent(
        layout, std::span(types).subspan(first, static_cast<std::size_t>(layout.num_tensors)), attributes);
    Product product;
    product.source = Source::kAttention;
    product.kind = forward ? Kind::kForward : Kind::kBackwardData;
    product.m = extent.queries;
    product.n = extent.keys;
    product.k = product.in_features = product.out_features = extent.size;
    product.operand = types[first].dtype;
    // A causal mask skips half of the pairs.
    const std::int64_t times = forward ? 2 : 5;
    product.count =
        std::max<std::int64_t>(1, extent.batch * extent.heads * times / (attributes.causal ? 2 : 1));
    return product;
}

// The node alone, over inputs of its types, taken apart.
Graph decomposed(const Graph& graph, const Node& node) {
    Graph parts;
    GraphBuilder builder(parts);
    Node alone = node;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] != kNone)
            alone.inputs[i] = builder.input("in" + std::to_string(i), graph.type(node.inputs[i]));
    node.op->decompose(builder, alone);
    return parts;
}

}  // namespace

std::string_view name_of(Product::Kind kind) {
    switch (kind) {
        case Kind::kForward:
            return "forward";
        case Kind::kBackwardData:
            return "data gradient";
        case Kind::kBackwardWeight:
            return "weight gradient";
    }
    return "?";
}

std::vector<Product> products_of(const Graph& graph, const Node& node) {
    const OpType* op = node.op;
    std::vector<Product> products;
    if (op == &conv2d_op || op == &conv2d_backward_data_op || op == &conv2d_backward_weight_op)
        products = {convolution(graph, node)};
    else if (op == &linear_op || op == &linear_backward_data_op || op == &linear_backward_weight_op)
        products = {linear_product(graph, node)};
    else if (op == &linear_fp8_op)
        products = {fp8_product(graph, node)};
    else if (is_attention(op) || is_attention_backward(op))
        products = {attention_product(graph, node)};
    else if (op->decompose != nullptr) {
        const Graph parts = decomposed(graph, node);
        for (const Node& part : parts.nodes)
            for (Product& product : products_of(parts, part)) products.push_back(std::move(product));
    }
    for (Product& product : products) product.node = node.name;
    return products;
}

}  // namespace mpt
