#include "ops/embedding/rewrites.h"

#include "graph/rewriting.h"
#include "ops/accumulate/accumulate.h"
#include "ops/embedding/embedding.h"

namespace mpt {

namespace {

bool take_accumulate(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, accumulate_op)) return false;
    const Node sum = graph.node(anchor);
    const NodeId backward = producer_of(graph, sum.inputs[1], embedding_backward_op);
    if (backward == kNone || !only_user_is(graph, sum.inputs[1], anchor)) return false;
    const Node gradient = graph.node(backward);
    const std::vector<ValueId> inputs = {sum.inputs[0], gradient.inputs[0], gradient.inputs[1]};
    if (!has_fast_kernel(kernels, graph, embedding_backward_accumulate_op, gradient.attributes, inputs))
        return false;
    replace_node(graph, backward, embedding_backward_accumulate_op, gradient.attributes, inputs, sum.outputs);
    remove_node(graph, anchor);
    return true;
}

}  // namespace

const Rewrite embedding_backward_takes_accumulate = {"embedding_backward_takes_accumulate", 30,
                                                     take_accumulate};

}  // namespace mpt
