#include "ops/norm_rewrites.h"

#include "graph/rewriting.h"
#include "ops/add/add.h"

namespace mpt {

bool norm_takes_add(Graph& graph, NodeId anchor, const KernelTable& kernels, const OpType& norm,
                    const OpType& fused) {
    if (!is_op(graph, anchor, norm)) return false;
    const Node old = graph.node(anchor);
    const NodeId sum_node = producer_of(graph, old.inputs[0], add_op);
    if (sum_node == kNone) return false;
    const Node sum = graph.node(sum_node);
    if (sum.phase != old.phase) return false;
    std::vector<ValueId> inputs = {sum.inputs[0], sum.inputs[1]};
    inputs.insert(inputs.end(), old.inputs.begin() + 1, old.inputs.end());
    if (!has_fast_kernel(kernels, graph, fused, old.attributes, inputs)) return false;
    std::vector<ValueId> outputs = old.outputs;
    outputs.insert(outputs.begin(), sum.outputs[0]);
    replace_node(graph, anchor, fused, old.attributes, inputs, outputs);
    remove_node(graph, sum_node);
    return true;
}

bool norm_backward_takes_add(Graph& graph, NodeId anchor, const KernelTable& kernels, const OpType& backward,
                             const OpType& fused) {
    if (!is_op(graph, anchor, add_op)) return false;
    const Node sum = graph.node(anchor);
    for (const std::size_t side : {0u, 1u}) {
        const ValueId grad_x = sum.inputs[side], other = sum.inputs[1 - side];
        const NodeId producer = producer_of(graph, grad_x, backward);
        if (producer == kNone || grad_x == other || !only_user_is(graph, grad_x, anchor) ||
            graph.node(producer).outputs[0] != grad_x || depends_on(graph, other, producer))
            continue;
        const Node norm = graph.node(producer);
        std::vector<ValueId> inputs = norm.inputs;
        inputs.push_back(other);
        if (!has_fast_kernel(kernels, graph, fused, norm.attributes, inputs)) continue;
        std::vector<ValueId> outputs = norm.outputs;
        outputs[0] = sum.outputs[0];
        replace_node(graph, producer, fused, norm.attributes, inputs, outputs);
        remove_node(graph, anchor);
        return true;
    }
    return false;
}

}  // namespace mpt
