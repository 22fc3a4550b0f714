#include "ops/linear_fp8/linear_fp8.h"

#include "graph/rewriting.h"
#include "ops/accumulate/accumulate.h"
#include "ops/cost.h"

namespace mpt {

std::string print(const LinearFp8Attributes& a) {
    return "to=" + std::string(name_of(a.result));
}

namespace {

TensorType product_type(DType result, std::span<const TensorType> inputs) {
    const TensorType &a = inputs[0], &b = inputs[1];
    MPT_CHECK(a.shape.rank() == 2 && b.shape.rank() == 2 && a.shape[1] == b.shape[1],
              "linear_fp8 of " + to_string(a.shape) + " with " + to_string(b.shape));
    MPT_CHECK(is_fp8(a.dtype) && b.dtype == DType::e4m3, "linear_fp8 multiplies e4m3, or e5m2 by e4m3");
    MPT_CHECK(inputs[2].shape.rank() == 0 && inputs[3].shape.rank() == 0, "linear_fp8 without scales");
    return {{a.shape[0], b.shape[0]}, result};
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const TensorType d = product_type(attributes.as<LinearFp8Attributes>().result, inputs);
    MPT_CHECK(inputs.size() < 5 || inputs[4].shape.rank() == 0 || inputs[4].shape == Shape{d.shape[1]},
              "linear_fp8 with a bias that is not [out]");
    return {d};
}

std::vector<TensorType> infer_accumulate(const Attributes&, std::span<const TensorType> inputs) {
    const TensorType added = product_type(inputs[0].dtype, inputs.subspan(1));
    MPT_CHECK(inputs[0] == added,
              "linear_fp8_accumulate of " + to_string(added.shape) + " into " + to_string(inputs[0].shape));
    return {added};
}

template <std::size_t a>
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    const double depth = static_cast<double>(in[a].shape[1]);
    return cost_with_flops(2.0 * depth * static_cast<double>(out[0].shape.num_elements()), in, out);
}

std::vector<ValueId> decompose_accumulate(GraphBuilder& b, const Node& node) {
    const auto& in = node.inputs;
    const ValueId product = b.add(linear_fp8_op, LinearFp8Attributes{b.type(in[0]).dtype},
                                  {in[1], in[2], in[3], in[4]}, node.name + ".product");
    return {accumulate(b, in[0], product, node.name + ".accumulate")};
}

bool take_accumulate(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, accumulate_op)) return false;
    const Node sum = graph.node(anchor);
    const NodeId at = producer_of(graph, sum.inputs[1], linear_fp8_op);
    if (at == kNone || !only_user_is(graph, sum.inputs[1], anchor)) return false;
    const Node product = graph.node(at);
    const bool biased = product.inputs.size() > 4 && product.inputs[4] != kNone;
    if (biased || graph.type(product.outputs[0]).dtype != DType::f32) return false;
    std::vector<ValueId> inputs = {sum.inputs[0]};
    inputs.insert(inputs.end(), product.inputs.begin(), product.inputs.begin() + 4);
    if (!has_fast_kernel(kernels, graph, linear_fp8_accumulate_op, {}, inputs)) return false;
    replace_node(graph, at, linear_fp8_accumulate_op, {}, inputs, sum.outputs);
    remove_node(graph, anchor);
    return true;
}

}  // namespace

const OpType linear_fp8_op = {
    .name = "linear_fp8",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost<0>,
};

const OpType linear_fp8_accumulate_op = {
    .name = "linear_fp8_accumulate",
    .precision = PrecisionClass::kFixed,
    .infer = infer_accumulate,
    .is_data_input = [](const Attributes&, int index) { return index == 1 || index == 2; },
    .cost = cost<1>,
    .must_alias = {{0, 0}},
    .decompose = decompose_accumulate,
};

const Rewrite linear_fp8_takes_accumulate = {"linear_fp8_takes_accumulate", 30, take_accumulate};

void register_linear_fp8(OpTable& table) {
    table.add(linear_fp8_op);
    table.add(linear_fp8_accumulate_op);
    table.add(linear_fp8_takes_accumulate);
    table.roles.fp8_product = &linear_fp8_op;
    table.roles.fp8_product_attributes = [](DType result) { return Attributes(LinearFp8Attributes{result}); };
}

}  // namespace mpt
