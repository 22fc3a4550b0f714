#include "ops/channel_reductions/rewrites.h"

#include "graph/rewriting.h"
#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"
#include "ops/relu/relu.h"

namespace mpt {

namespace {

// Whether only folds of a batch norm's gradient read `sums`, so that its rows may move.
bool only_folds_read(const Graph& graph, ValueId sums) {
    return !graph.is_output(sums) &&
           users_of_op(graph, sums, batch_norm_backward_fold_op) == graph.users(sums);
}

bool merge(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, channel_reductions_op)) return false;
    const Node first = graph.node(anchor);
    if (first.attributes.as<ChannelReductionsAttributes>().num_references != 1) return false;
    if (!only_folds_read(graph, first.outputs[0])) return false;
    for (const NodeId other : users_of_op(graph, first.inputs[0], channel_reductions_op)) {
        const Node second = graph.node(other);
        if (other == anchor || second.inputs[0] != first.inputs[0]) continue;
        if (second.attributes.as<ChannelReductionsAttributes>().num_references != 1) continue;
        if (!only_folds_read(graph, second.outputs[0]) || depends_on(graph, second.inputs[1], anchor))
            continue;
        const ValueId merged =
            append_node(graph, first, channel_reductions_op, ChannelReductionsAttributes{2},
                        {first.inputs[0], first.inputs[1], second.inputs[1]}, "")[0];
        for (const NodeId user : graph.users(second.outputs[0])) {
            Node& fold = graph.node(user);
            auto attributes = fold.attributes.as<BatchNormBackwardFoldAttributes>();
            attributes.row = 2;
            fold.attributes = attributes;
            fold.inputs[0] = merged;
        }
        graph.replace_uses(first.outputs[0], merged);
        remove_node(graph, anchor);
        remove_node(graph, other);
        return true;
    }
    return false;
}

bool take_reductions(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, channel_reductions_op)) return false;
    const Node reductions = graph.node(anchor);
    const NodeId mask = producer_of(graph, reductions.inputs[0], relu_backward_op);
    if (mask == kNone) return false;
    const Node relu = graph.node(mask);
    for (std::size_t i = 1; i < reductions.inputs.size(); ++i)
        if (depends_on(graph, reductions.inputs[i], mask)) return false;
    ReluBackwardReductionsAttributes attributes;
    attributes.num_references = reductions.attributes.as<ChannelReductionsAttributes>().num_references;
    std::vector<ValueId> inputs = {
        relu.inputs[0], relu.inputs[1],       kNone,
        kNone,          reductions.inputs[1], reductions.inputs.size() > 2 ? reductions.inputs[2] : kNone};
    const NodeId affine = producer_of(graph, relu.inputs[1], channel_affine_op);
    if (affine != kNone && graph.node(affine).attributes.as<ChannelAffineAttributes>().relu) {
        attributes.affine = true;
        for (std::size_t i = 0; i < 3; ++i) inputs[1 + i] = graph.node(affine).inputs[i];
    }
    replace_node(graph, mask, relu_backward_reductions_op, attributes, inputs,
                 {relu.outputs[0], reductions.outputs[0]});
    remove_node(graph, anchor);
    remove_if_unused(graph, affine);
    return true;
}

}  // namespace

const Rewrite channel_reductions_merge = {"channel_reductions_merge", 30, merge};
const Rewrite relu_backward_takes_reductions = {"relu_backward_takes_reductions", 80, take_reductions};

}  // namespace mpt
