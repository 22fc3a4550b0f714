#include "ops/channel_affine/rewrites.h"

#include "graph/rewriting.h"
#include "ops/add/add.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/relu/relu.h"

namespace mpt {

namespace {

namespace in = affine_add_relu_input;

// A channel_affine that only `user` reads, or kNone.
NodeId affine_for(const Graph& graph, ValueId value, NodeId user) {
    const NodeId affine = producer_of(graph, value, channel_affine_op);
    return affine != kNone && only_user_is(graph, value, user) ? affine : kNone;
}

bool take_relu(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, relu_op)) return false;
    const Node relu_node = graph.node(anchor);
    const NodeId affine = affine_for(graph, relu_node.inputs[0], anchor);
    if (affine == kNone || graph.node(affine).attributes.as<ChannelAffineAttributes>().relu) return false;
    replace_node(graph, anchor, channel_affine_op, ChannelAffineAttributes{true}, graph.node(affine).inputs,
                 relu_node.outputs);
    remove_node(graph, affine);
    return true;
}

bool take_add(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, add_op)) return false;
    const Node sum = graph.node(anchor);
    ValueId second = sum.inputs[1];
    NodeId affine = affine_for(graph, sum.inputs[0], anchor);
    if (affine == kNone || graph.node(affine).attributes.as<ChannelAffineAttributes>().relu) {
        affine = affine_for(graph, sum.inputs[1], anchor);
        second = sum.inputs[0];
    }
    if (affine == kNone || graph.node(affine).attributes.as<ChannelAffineAttributes>().relu) return false;
    if (second == graph.node(affine).outputs[0]) return false;
    std::vector<ValueId> inputs = graph.node(affine).inputs;
    inputs.insert(inputs.end(), {second, kNone, kNone});
    const std::vector<NodeId> users = graph.users(sum.outputs[0]);
    const bool with_relu =
        users.size() == 1 && is_op(graph, users[0], relu_op) && only_user_is(graph, sum.outputs[0], users[0]);
    const NodeId at = with_relu ? users[0] : anchor;
    const std::vector<ValueId> outputs = graph.node(at).outputs;
    replace_node(graph, at, affine_add_relu_op, AffineAddReluAttributes{with_relu, false}, inputs, outputs);
    if (with_relu) remove_node(graph, anchor);
    remove_node(graph, affine);
    return true;
}

bool take_second(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, affine_add_relu_op)) return false;
    const Node node = graph.node(anchor);
    if (node.inputs[in::kScale2] != kNone) return false;
    const NodeId affine = producer_of(graph, node.inputs[in::kX2], channel_affine_op);
    if (affine == kNone) return false;
    // Other readers keep the channel_affine alive; this one recomputes it, at no cost in memory traffic.
    const Node second = graph.node(affine);
    auto attributes = node.attributes.as<AffineAddReluAttributes>();
    attributes.second_relu = second.attributes.as<ChannelAffineAttributes>().relu;
    std::vector<ValueId> inputs = node.inputs;
    for (int i = 0; i < 3; ++i)
        inputs[static_cast<std::size_t>(in::kX2 + i)] = second.inputs[static_cast<std::size_t>(i)];
    replace_node(graph, anchor, affine_add_relu_op, attributes, inputs, node.outputs);
    remove_if_unused(graph, affine);
    return true;
}

}  // namespace

const Rewrite channel_affine_takes_relu = {"channel_affine_takes_relu", 20, take_relu};
const Rewrite add_relu_takes_affine = {"add_relu_takes_affine", 20, take_add};
const Rewrite affine_add_relu_takes_second = {"affine_add_relu_takes_second", 21, take_second};

}  // namespace mpt
