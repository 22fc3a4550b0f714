#include "ops/linear_gelu/linear_gelu.h"

#include "graph/rewriting.h"
#include "ops/cost.h"
#include "ops/gelu/gelu.h"
#include "ops/linear/linear.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const TensorType u = linear_op.infer(LinearAttributes{}, inputs).front();
    return {u, u};
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    const double rows = static_cast<double>(in[0].shape[0]);
    return cost_with_flops(2.0 * rows * static_cast<double>(in[1].shape.num_elements()), in, out);
}

std::vector<ValueId> decompose(GraphBuilder& b, const Node& node) {
    const ValueId u = b.add(linear_op, LinearAttributes{}, node.inputs, node.name + ".linear");
    return {gelu(b, u, {GeluForm::kTanh}, node.name + ".gelu"), u};
}

bool take_gelu(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, gelu_op)) return false;
    const Node activation = graph.node(anchor);
    const ValueId u = activation.inputs[0];
    const NodeId at = producer_of(graph, u, linear_op);
    // Where nothing else reads it, as in an evaluation, u would be written for nobody.
    if (at == kNone || activation.attributes.as<GeluAttributes>().form != GeluForm::kTanh ||
        graph.users(u).size() < 2)
        return false;
    const Node product = graph.node(at);
    if (product.attributes != Attributes(LinearAttributes{}) ||
        graph.type(u) != graph.type(activation.outputs[0]) ||
        !has_fast_kernel(kernels, graph, linear_gelu_op, {}, product.inputs))
        return false;
    replace_node(graph, at, linear_gelu_op, {}, product.inputs, {activation.outputs[0], u});
    remove_node(graph, anchor);
    return true;
}

}  // namespace

const OpType linear_gelu_op = {
    .name = "linear_gelu",
    .precision = PrecisionClass::kNarrow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index <= 1; },
    .cost = cost,
    .decompose = decompose,
};

const Rewrite linear_takes_gelu = {"linear_takes_gelu", 20, take_gelu};

void register_linear_gelu(OpTable& table) {
    table.add(linear_gelu_op);
    table.add(linear_takes_gelu);
}

}  // namespace mpt
