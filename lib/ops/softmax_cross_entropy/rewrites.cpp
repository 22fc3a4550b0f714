#include "ops/softmax_cross_entropy/rewrites.h"

#include "graph/rewriting.h"
#include "ops/cast/cast.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace mpt {

namespace {

// Ids of the nodes that make a loss of logits; those of the backward pass are kNone in an evaluation.
struct LossNodes {
    NodeId log_softmax = kNone, loss = kNone, loss_backward = kNone, log_softmax_backward = kNone;
};

// Puts `id` into `place`; false if something is there already.
bool claim(NodeId& place, NodeId id) {
    if (place != kNone) return false;
    place = id;
    return true;
}

// The nodes around `anchor`, if nothing else reads the log-probabilities.
std::optional<LossNodes> loss_nodes(const Graph& graph, NodeId anchor) {
    LossNodes nodes;
    nodes.log_softmax = anchor;
    const ValueId logp = graph.node(anchor).outputs[0];
    if (graph.is_output(logp)) return std::nullopt;
    for (const NodeId user : graph.users(logp)) {
        const OpType* op = graph.node(user).op;
        NodeId* place = op == &nll_loss_op               ? &nodes.loss
                        : op == &nll_loss_backward_op    ? &nodes.loss_backward
                        : op == &log_softmax_backward_op ? &nodes.log_softmax_backward
                                                         : nullptr;
        if (place == nullptr || !claim(*place, user)) return std::nullopt;
    }
    const std::int64_t of_softmax = graph.node(anchor).attributes.as<LogSoftmaxAttributes>().vocabulary;
    if (nodes.loss == kNone || (nodes.loss_backward == kNone) != (nodes.log_softmax_backward == kNone))
        return std::nullopt;
    if (graph.node(nodes.loss).attributes.as<LossAttributes>().vocabulary != of_softmax) return std::nullopt;
    if (nodes.loss_backward == kNone) return nodes;
    const Node& loss = graph.node(nodes.loss);
    const Node& backward = graph.node(nodes.loss_backward);
    const bool match = backward.attributes == loss.attributes &&
                       loss_labels(backward.inputs, 2, 3) == loss_labels(loss.inputs, 1, 2) &&
                       graph.node(nodes.log_softmax_backward).inputs[0] == backward.outputs[0] &&
                       only_user_is(graph, backward.outputs[0], nodes.log_softmax_backward);
    return match ? std::optional(nodes) : std::nullopt;
}

bool take_loss(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, log_softmax_op)) return false;
    const auto nodes = loss_nodes(graph, anchor);
    if (!nodes) return false;
    const ValueId z = graph.node(anchor).inputs[0];
    const Node loss = graph.node(nodes->loss);
    const LossLabels labels = loss_labels(loss.inputs, 1, 2);
    const ValueId logsumexp = replace_node(graph, nodes->loss, softmax_cross_entropy_op, loss.attributes,
                                           loss_inputs({z}, labels), {loss.outputs[0], kNone})[1];
    if (nodes->loss_backward != kNone) {
        const ValueId seed = graph.node(nodes->loss_backward).inputs[0];
        const std::vector<ValueId> outputs = graph.node(nodes->log_softmax_backward).outputs;
        replace_node(graph, nodes->loss_backward, softmax_cross_entropy_backward_op, loss.attributes,
                     loss_inputs({seed, z}, labels, {logsumexp}), outputs);
        remove_node(graph, nodes->log_softmax_backward);
    }
    remove_node(graph, anchor);
    return true;
}

// Whether the only reader of `value` is a cast to `type`; then it is put into `reader`.
bool is_only_cast(const Graph& graph, ValueId value, DType type, NodeId& reader) {
    const std::vector<NodeId> users = graph.users(value);
    if (users.size() != 1 || graph.is_output(value) || !is_op(graph, users[0], cast_op)) return false;
    reader = users[0];
    return graph.node(reader).attributes.as<CastAttributes>().to == type;
}

// Not where the gradient is wanted in f32: it would be rounded.
bool take_casts(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, softmax_cross_entropy_op)) return false;
    const Node loss = graph.node(anchor);
    const NodeId widen = producer_of(graph, loss.inputs[0], cast_op);
    if (widen == kNone || graph.is_output(loss.outputs[1])) return false;
    const ValueId z = graph.node(widen).inputs[0];
    const DType type = graph.type(z).dtype;
    const std::vector<NodeId> readers = graph.users(loss.outputs[1]);
    if (!is_narrow(type) || readers.size() > 1) return false;
    NodeId narrow = kNone;
    if (!readers.empty()) {
        const Node backward = graph.node(readers[0]);
        if (backward.op != &softmax_cross_entropy_backward_op || backward.inputs[1] != loss.inputs[0] ||
            !is_only_cast(graph, backward.outputs[0], type, narrow))
            return false;
        const std::vector<ValueId> outputs = graph.node(narrow).outputs;
        std::vector<ValueId> inputs = backward.inputs;
        inputs[1] = z;
        replace_node(graph, readers[0], softmax_cross_entropy_backward_op, backward.attributes, inputs,
                     outputs);
        remove_node(graph, narrow);
    }
    std::vector<ValueId> inputs = loss.inputs;
    inputs[0] = z;
    replace_node(graph, anchor, softmax_cross_entropy_op, loss.attributes, inputs, loss.outputs);
    remove_if_unused(graph, widen);
    return true;
}

}  // namespace

const Rewrite log_softmax_takes_nll_loss = {"log_softmax_takes_nll_loss", 10, take_loss};
const Rewrite softmax_cross_entropy_takes_casts = {"softmax_cross_entropy_takes_casts", 10, take_casts};

}  // namespace mpt
