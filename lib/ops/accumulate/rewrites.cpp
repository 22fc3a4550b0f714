#include "ops/accumulate/rewrites.h"

#include "graph/rewriting.h"
#include "ops/accumulate/accumulate.h"
#include "ops/add/add.h"

namespace mpt {

namespace {

bool split_sum(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, accumulate_op)) return false;
    const Node node = graph.node(anchor);
    const NodeId sum = producer_of(graph, node.inputs[1], add_op);
    if (sum == kNone || !only_user_is(graph, node.inputs[1], anchor)) return false;
    const std::vector<ValueId> parts = graph.node(sum).inputs;
    remove_node(graph, sum);
    const ValueId first =
        append_node(graph, node, accumulate_op, {}, {node.inputs[0], parts[0]}, ".first")[0];
    replace_node(graph, anchor, accumulate_op, {}, {first, parts[1]}, node.outputs);
    return true;
}

}  // namespace

const Rewrite accumulate_splits_sum = {"accumulate_splits_sum", 10, split_sum};

}  // namespace mpt
