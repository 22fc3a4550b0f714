#include "ops/embedding/embedding.h"

#include <fmt/format.h>

#include "ops/accumulate/accumulate.h"
#include "ops/cost.h"
#include "ops/embedding/rewrites.h"

namespace mpt {

std::string print(const EmbeddingAttributes& a) {
    return fmt::format("padding_id={}", a.padding_id);
}
std::string print(const EmbeddingBackwardAttributes& a) {
    return fmt::format("num_rows={} padding_id={}", a.num_rows, a.padding_id);
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const TensorType& ids = inputs[0];
    const TensorType& table = inputs[1];
    MPT_CHECK(ids.dtype == DType::i32 && table.shape.rank() == 2,
              "embedding of ids " + to_string(ids.shape) + " in a table " + to_string(table.shape));
    std::vector<std::int64_t> dims = ids.shape.dims();
    dims.push_back(table.shape[1]);
    return {{Shape(std::move(dims)), table.dtype}};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    const Shape& grad = inputs[0].shape;
    const std::int64_t num_rows = attributes.as<EmbeddingBackwardAttributes>().num_rows;
    MPT_CHECK(grad.rank() == inputs[1].shape.rank() + 1 && inputs[1].dtype == DType::i32 && num_rows > 0 &&
                  grad.num_elements() == inputs[1].shape.num_elements() * grad[-1],
              "embedding_backward of " + to_string(grad) + " with ids " + to_string(inputs[1].shape));
    return {{{num_rows, grad[-1]}, wide_of(inputs[0].dtype)}};
}

std::vector<TensorType> infer_accumulate(const Attributes& attributes, std::span<const TensorType> inputs) {
    const TensorType added = infer_backward(attributes, inputs.subspan(1))[0];
    MPT_CHECK(inputs[0] == added, "embedding_backward_accumulate of " + to_string(added.shape) + " into " +
                                      to_string(inputs[0].shape));
    return {added};
}

void differentiate(GradientContext& context) {
    if (!context.wants(1)) return;
    const std::int64_t num_rows = context.builder.type(context.in(1)).shape[0];
    const std::int64_t padding = context.node.attributes.as<EmbeddingAttributes>().padding_id;
    context.set(1, embedding_backward(context.builder, context.grad(), context.in(0), {num_rows, padding},
                                      "backward"));
}

// Only the rows that are named are read.
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return {.flops = 0, .bytes = static_cast<double>(in[0].bytes() + 2 * out[0].bytes())};
}
Cost cost_backward(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(static_cast<double>(in[0].shape.num_elements()), in, out);
}
// A row that is named is read and written.
Cost cost_accumulate(const Attributes&, std::span<const TensorType> in, std::span<const TensorType>) {
    const double elements = static_cast<double>(in[1].shape.num_elements());
    return {.flops = elements, .bytes = static_cast<double>(in[1].bytes()) + 8 * elements};
}

std::vector<ValueId> decompose_accumulate(GraphBuilder& b, const Node& node) {
    const ValueId grad =
        embedding_backward(b, node.inputs[1], node.inputs[2],
                           node.attributes.as<EmbeddingBackwardAttributes>(), node.name + ".backward");
    return {accumulate(b, node.inputs[0], grad, node.name + ".accumulate")};
}

}  // namespace

const OpType embedding_op = {
    .name = "embedding",
    .precision = PrecisionClass::kNarrow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 1; },
    .differentiate = differentiate,
    .cost = cost,
};

const OpType embedding_backward_op = {
    .name = "embedding_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .cost = cost_backward,
};

const OpType embedding_backward_accumulate_op = {
    .name = "embedding_backward_accumulate",
    .precision = PrecisionClass::kFollow,
    .infer = infer_accumulate,
    .is_data_input = [](const Attributes&, int index) { return index == 1; },
    .cost = cost_accumulate,
    .must_alias = {{0, 0}},
    .decompose = decompose_accumulate,
};

ValueId embedding(GraphBuilder& builder, ValueId ids, ValueId table, EmbeddingAttributes attributes,
                  const std::string& name) {
    return builder.add(embedding_op, attributes, {ids, table}, name);
}

ValueId embedding_backward(GraphBuilder& builder, ValueId grad_y, ValueId ids,
                           EmbeddingBackwardAttributes attributes, const std::string& name) {
    return builder.add(embedding_backward_op, attributes, {grad_y, ids}, name);
}

void register_embedding(OpTable& table) {
    table.add(embedding_op);
    table.add(embedding_backward_op);
    table.add(embedding_backward_accumulate_op);
    table.add(embedding_backward_takes_accumulate);
}

}  // namespace mpt
