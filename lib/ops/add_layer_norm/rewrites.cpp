#include "ops/add_layer_norm/rewrites.h"

#include "graph/rewriting.h"
#include "ops/add/add.h"
#include "ops/add_layer_norm/add_layer_norm.h"

namespace mpt {

namespace {

bool take_add(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, layer_norm_op)) return false;
    const Node norm = graph.node(anchor);
    const NodeId sum_node = producer_of(graph, norm.inputs[0], add_op);
    if (sum_node == kNone) return false;
    const Node sum = graph.node(sum_node);
    if (sum.phase != norm.phase) return false;
    replace_node(graph, anchor, add_layer_norm_op, norm.attributes,
                 {sum.inputs[0], sum.inputs[1], norm.inputs[1], norm.inputs[2]},
                 {sum.outputs[0], norm.outputs[0], norm.outputs[1], norm.outputs[2]});
    remove_node(graph, sum_node);
    return true;
}

bool take_gradient(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, add_op)) return false;
    const Node sum = graph.node(anchor);
    for (const std::size_t side : {0u, 1u}) {
        const ValueId grad_x = sum.inputs[side], other = sum.inputs[1 - side];
        const NodeId backward = producer_of(graph, grad_x, layer_norm_backward_op);
        if (backward == kNone || grad_x == other || !only_user_is(graph, grad_x, anchor) ||
            graph.node(backward).outputs[0] != grad_x || depends_on(graph, other, backward))
            continue;
        const Node norm = graph.node(backward);
        std::vector<ValueId> inputs = norm.inputs;
        inputs.push_back(other);
        replace_node(graph, backward, layer_norm_backward_add_op, {}, inputs,
                     {sum.outputs[0], norm.outputs[1], norm.outputs[2]});
        remove_node(graph, anchor);
        return true;
    }
    return false;
}

}  // namespace

const Rewrite layer_norm_takes_add = {"layer_norm_takes_add", 20, take_add};
const Rewrite layer_norm_backward_takes_add = {"layer_norm_backward_takes_add", 20, take_gradient};

}  // namespace mpt
