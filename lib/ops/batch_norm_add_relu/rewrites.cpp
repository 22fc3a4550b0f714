#include "ops/batch_norm_add_relu/rewrites.h"

#include <optional>

#include "graph/rewriting.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_add_relu/batch_norm_add_relu.h"
#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"

namespace mpt {

namespace {

bool library_runs(const KernelTable& kernels, const Graph& graph, const OpType& op,
                  const Attributes& attributes, const std::vector<ValueId>& inputs) {
    const Kernel* kernel = kernel_for(kernels, graph, op, attributes, inputs);
    return kernel != nullptr && kernel->name == "cudnn";
}

// What is done with a norm: y = x * scale + shift (+ addend), then the relu.
struct Pass {
    ValueId x = kNone, scale = kNone, shift = kNone, addend = kNone;
    bool relu = false;
};

std::optional<Pass> pass_of(const Graph& graph, NodeId id) {
    if (is_op(graph, id, channel_affine_op)) {
        const Node& node = graph.node(id);
        return Pass{node.inputs[0], node.inputs[1], node.inputs[2], kNone,
                    node.attributes.as<ChannelAffineAttributes>().relu};
    }
    if (!is_op(graph, id, affine_add_relu_op)) return std::nullopt;
    namespace in = affine_add_relu_input;
    const Node& node = graph.node(id);
    const auto& attributes = node.attributes.as<AffineAddReluAttributes>();
    if (node.inputs[in::kScale2] != kNone || attributes.second_relu) return std::nullopt;
    return Pass{node.inputs[in::kX1], node.inputs[in::kScale1], node.inputs[in::kShift1],
                node.inputs[in::kX2], attributes.relu};
}

// The node of `op` that produces `value`, where it is of the same phase as `user`, or kNone.
NodeId source_of(const Graph& graph, ValueId value, const OpType& op, NodeId user) {
    const NodeId source = producer_of(graph, value, op);
    return source != kNone && graph.node(source).phase == graph.node(user).phase ? source : kNone;
}

bool join(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    const std::optional<Pass> pass = pass_of(graph, anchor);
    if (!pass) return false;
    const NodeId fold_node = source_of(graph, pass->scale, batch_norm_fold_op, anchor);
    if (fold_node == kNone) return false;
    const Node fold = graph.node(fold_node);
    if (fold.outputs[0] != pass->scale || fold.outputs[1] != pass->shift) return false;
    const NodeId statistics = source_of(graph, fold.inputs[0], channel_statistics_op, anchor);
    if (statistics == kNone || graph.node(statistics).inputs[0] != pass->x ||
        !only_user_is(graph, fold.inputs[0], fold_node))
        return false;
    // The vectors would come after the addend.
    if (pass->addend != kNone && depends_on(graph, pass->addend, fold_node)) return false;
    const BatchNormAddReluAttributes attributes{fold.attributes.as<BatchNormFoldAttributes>().epsilon,
                                                pass->relu};
    const std::vector<ValueId> inputs = {pass->x, fold.inputs[1], fold.inputs[2], pass->addend};
    if (!library_runs(kernels, graph, batch_norm_add_relu_op, attributes, inputs)) return false;
    std::vector<ValueId> outputs = fold.outputs;
    outputs.insert(outputs.begin(), graph.node(anchor).outputs[0]);
    replace_node(graph, anchor, batch_norm_add_relu_op, attributes, inputs, outputs);
    remove_node(graph, fold_node);
    remove_node(graph, statistics);
    return true;
}

bool join_backward(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, channel_combine_op)) return false;
    const Node combine = graph.node(anchor);
    const NodeId fold_node = source_of(graph, combine.inputs[2], batch_norm_backward_fold_op, anchor);
    if (fold_node == kNone) return false;
    const Node fold = graph.node(fold_node);
    for (std::size_t i = 2; i < 5; ++i)
        if (fold.outputs[i] != combine.inputs[i] || !only_user_is(graph, fold.outputs[i], anchor))
            return false;
    const NodeId sums_node = source_of(graph, fold.inputs[0], channel_reductions_op, anchor);
    if (sums_node == kNone || !only_user_is(graph, fold.inputs[0], fold_node)) return false;
    const Node sums = graph.node(sums_node);
    if (sums.attributes.as<ChannelReductionsAttributes>().num_references != 1 ||
        sums.inputs[0] != combine.inputs[0] || sums.inputs[1] != combine.inputs[1])
        return false;
    const std::vector<ValueId> inputs = {combine.inputs[0], combine.inputs[1], fold.inputs[1], fold.inputs[2],
                                         fold.inputs[3]};
    if (!library_runs(kernels, graph, batch_norm_backward_fused_op, {}, inputs)) return false;
    replace_node(graph, anchor, batch_norm_backward_fused_op, {}, inputs,
                 {combine.outputs[0], fold.outputs[0], fold.outputs[1]});
    remove_node(graph, fold_node);
    remove_node(graph, sums_node);
    return true;
}

}  // namespace

// Last: what convolutions and pools take of the parts comes first.
const Rewrite batch_norm_joins = {"batch_norm_joins", 95, join};
const Rewrite batch_norm_backward_joins = {"batch_norm_backward_joins", 95, join_backward};

}  // namespace mpt
