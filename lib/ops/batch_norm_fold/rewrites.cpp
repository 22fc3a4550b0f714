#include "ops/batch_norm_fold/rewrites.h"

#include "graph/rewriting.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"

namespace mpt {

namespace {

bool is_image(const Graph& graph, ValueId x) {
    return graph.type(x).shape.rank() == 4;
}
std::int64_t values_a_channel(const Graph& graph, ValueId x) {
    const Shape& shape = graph.type(x).shape;
    return shape.num_elements() / shape[-1];
}

bool split(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, batch_norm_op)) return false;
    const Node node = graph.node(anchor);
    const ValueId x = node.inputs[0];
    if (!is_image(graph, x)) return false;
    const double epsilon = node.attributes.as<BatchNormAttributes>().epsilon;
    const ValueId statistics = append_node(graph, node, channel_statistics_op, {}, {x}, ".statistics")[0];
    const auto fold = append_node(graph, node, batch_norm_fold_op,
                                  BatchNormFoldAttributes{epsilon, values_a_channel(graph, x)},
                                  {statistics, node.inputs[1], node.inputs[2]}, ".fold",
                                  {kNone, kNone, node.outputs[1], node.outputs[2]});
    replace_node(graph, anchor, channel_affine_op, ChannelAffineAttributes{}, {x, fold[0], fold[1]},
                 {node.outputs[0]});
    return true;
}

bool split_inference(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, batch_norm_inference_op)) return false;
    const Node node = graph.node(anchor);
    const ValueId x = node.inputs[0];
    if (!is_image(graph, x)) return false;
    const double epsilon = node.attributes.as<BatchNormAttributes>().epsilon;
    const auto fold =
        append_node(graph, node, batch_norm_inference_fold_op, BatchNormInferenceFoldAttributes{epsilon},
                    {node.inputs.begin() + 1, node.inputs.end()}, ".fold");
    replace_node(graph, anchor, channel_affine_op, ChannelAffineAttributes{}, {x, fold[0], fold[1]},
                 node.outputs);
    return true;
}

bool split_backward(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, batch_norm_backward_op)) return false;
    const Node node = graph.node(anchor);
    const ValueId grad_y = node.inputs[0], x = node.inputs[1];
    if (!is_image(graph, x)) return false;
    const ValueId sums = append_node(graph, node, channel_reductions_op, ChannelReductionsAttributes{1},
                                     {grad_y, x}, ".reductions")[0];
    const auto fold = append_node(graph, node, batch_norm_backward_fold_op,
                                  BatchNormBackwardFoldAttributes{values_a_channel(graph, x), 1},
                                  {sums, node.inputs[2], node.inputs[3], node.inputs[4]}, ".fold",
                                  {node.outputs[1], node.outputs[2], kNone, kNone, kNone});
    replace_node(graph, anchor, channel_combine_op, {}, {grad_y, x, fold[2], fold[3], fold[4]},
                 {node.outputs[0]});
    return true;
}

}  // namespace

const Rewrite batch_norm_split = {"batch_norm_split", 10, split};
const Rewrite batch_norm_inference_split = {"batch_norm_inference_split", 10, split_inference};
const Rewrite batch_norm_backward_split = {"batch_norm_backward_split", 10, split_backward};

}  // namespace mpt
