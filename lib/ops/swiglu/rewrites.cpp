#include "ops/swiglu/rewrites.h"

#include <optional>

#include "graph/rewriting.h"
#include "ops/multiply/multiply.h"
#include "ops/silu/silu.h"
#include "ops/swiglu/swiglu.h"

namespace mpt {

namespace {

// Ids of the nodes; those of the backward pass are kNone in an evaluation.
struct Gated {
    NodeId product = kNone;    // silu(gate) up
    NodeId grad_up = kNone;    // grad_y silu(gate)
    NodeId grad_silu = kNone;  // grad_y up
    NodeId grad_gate = kNone;  // through silu
};

ValueId other_input(const Node& node, ValueId one) {
    return node.inputs[0] == one ? node.inputs[1] : node.inputs[0];
}

// The product of `a` and `b` that is not `except`.
NodeId product_of(const Graph& graph, ValueId a, ValueId b, NodeId except) {
    for (const NodeId id : users_of_op(graph, a, multiply_op))
        if (id != except && other_input(graph.node(id), a) == b) return id;
    return kNone;
}

std::optional<Gated> gated(const Graph& graph, NodeId silu_node) {
    const ValueId gate = graph.node(silu_node).inputs[0], passed = graph.node(silu_node).outputs[0];
    Gated nodes;
    if (graph.is_output(passed)) return std::nullopt;
    for (const NodeId id : graph.users(passed)) {
        if (!is_op(graph, id, multiply_op)) return std::nullopt;
        NodeId& place = graph.node(id).phase == Phase::kBackward ? nodes.grad_up : nodes.product;
        if (place != kNone) return std::nullopt;
        place = id;
    }
    if (nodes.product == kNone) return std::nullopt;
    if (nodes.grad_up == kNone) return nodes;
    const ValueId up = other_input(graph.node(nodes.product), passed);
    const ValueId grad_y = other_input(graph.node(nodes.grad_up), passed);
    nodes.grad_silu = product_of(graph, grad_y, up, nodes.grad_up);
    if (nodes.grad_silu == kNone) return std::nullopt;
    const ValueId grad_silu = graph.node(nodes.grad_silu).outputs[0];
    const std::vector<NodeId> readers = users_of_op(graph, grad_silu, silu_backward_op);
    if (readers.size() != 1 || !only_user_is(graph, grad_silu, readers[0]) ||
        graph.node(readers[0]).inputs[1] != gate)
        return std::nullopt;
    nodes.grad_gate = readers[0];
    return nodes;
}

bool take_silu(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, silu_op)) return false;
    const auto nodes = gated(graph, anchor);
    if (!nodes) return false;
    const ValueId gate = graph.node(anchor).inputs[0], passed = graph.node(anchor).outputs[0];
    const Node product = graph.node(nodes->product);
    const ValueId up = other_input(product, passed);
    if (!has_fast_kernel(kernels, graph, swiglu_op, {}, {gate, up})) return false;
    if (nodes->grad_up != kNone) {
        const Node grad_up = graph.node(nodes->grad_up);
        const std::vector<ValueId> inputs = {other_input(grad_up, passed), gate, up};
        if (!has_fast_kernel(kernels, graph, swiglu_backward_op, {}, inputs)) return false;
        const ValueId grad_gate = graph.node(nodes->grad_gate).outputs[0];
        replace_node(graph, nodes->grad_up, swiglu_backward_op, {}, inputs, {grad_gate, grad_up.outputs[0]});
        remove_node(graph, nodes->grad_silu);
        remove_node(graph, nodes->grad_gate);
    }
    replace_node(graph, nodes->product, swiglu_op, {}, {gate, up}, product.outputs);
    remove_node(graph, anchor);
    return true;
}

}  // namespace

const Rewrite multiply_takes_silu = {"multiply_takes_silu", 10, take_silu};

}  // namespace mpt
