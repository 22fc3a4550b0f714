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
    if (nodes.loss == kNone || (nodes.loss_backward == kNone) != (nodes.log_softmax_backward == kNone))
        return std::nullopt;
    if (nodes.loss_backward == kNone) return nodes;
    const Node& loss = graph.node(nodes.loss);
    const Node& backward = graph.node(nodes.loss_backward);
    const bool match = backward.attributes == loss.attributes && backward.inputs[2] == loss.inputs[1] &&
                       graph.node(nodes.log_softmax_backward).inputs[0] == backward.outputs[0] &&
                       only_user_is(graph, backward.outputs[0], nodes.log_softmax_backward);
    return match ? std::optional(nodes) : std::nullopt;
}

// The narrow logits behind z and the cast that narrows its gradient again.
struct NarrowLogits {
    ValueId z = kNone;
    NodeId grad_cast = kNone;  // kNone without a backward pass
};
std::optional<NarrowLogits> narrow_logits(const Graph& graph, const LossNodes& nodes) {
    const NodeId widen = producer_of(graph, graph.node(nodes.log_softmax).inputs[0], cast_op);
    if (widen == kNone) return std::nullopt;
    NarrowLogits narrow{graph.node(widen).inputs[0]};
    const DType type = graph.type(narrow.z).dtype;
    if (!is_narrow(type)) return std::nullopt;
    if (nodes.log_softmax_backward == kNone) return narrow;
    const ValueId grad_z = graph.node(nodes.log_softmax_backward).outputs[0];
    const std::vector<NodeId> users = graph.users(grad_z);
    if (users.size() != 1 || graph.is_output(grad_z) || !is_op(graph, users[0], cast_op)) return std::nullopt;
    if (graph.node(users[0]).attributes.as<CastAttributes>().to != type) return std::nullopt;
    narrow.grad_cast = users[0];
    return narrow;
}

bool take_loss(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, log_softmax_op)) return false;
    const auto nodes = loss_nodes(graph, anchor);
    if (!nodes) return false;
    const auto narrow = narrow_logits(graph, *nodes);
    const ValueId z = narrow ? narrow->z : graph.node(anchor).inputs[0];
    const Node loss = graph.node(nodes->loss);
    const ValueId labels = loss.inputs[1];
    const ValueId logsumexp = replace_node(graph, nodes->loss, softmax_cross_entropy_op, loss.attributes,
                                           {z, labels}, {loss.outputs[0], kNone})[1];
    if (nodes->loss_backward != kNone) {
        const NodeId last = narrow ? narrow->grad_cast : nodes->log_softmax_backward;
        const ValueId seed = graph.node(nodes->loss_backward).inputs[0];
        const std::vector<ValueId> outputs = graph.node(last).outputs;
        replace_node(graph, nodes->loss_backward, softmax_cross_entropy_backward_op, loss.attributes,
                     {seed, z, labels, logsumexp}, outputs);
        remove_node(graph, nodes->log_softmax_backward);
        if (narrow) remove_node(graph, narrow->grad_cast);
    }
    remove_node(graph, anchor);
    return true;
}

}  // namespace

const Rewrite log_softmax_takes_nll_loss = {"log_softmax_takes_nll_loss", 10, take_loss};

}  // namespace mpt
