#include "ops/conv2d_fused/rewrites.h"

#include "graph/rewriting.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d_fused/conv2d_fused.h"

namespace mpt {

namespace {

namespace in = conv2d_fused_input;

// A forward convolution, plain or fused, as a fused one.
struct Convolution {
    Conv2dFusedAttributes attributes;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
};
std::optional<Convolution> convolution_at(const Graph& graph, NodeId anchor) {
    const Node& node = graph.node(anchor);
    if (is_op(graph, anchor, conv2d_fused_op))
        return Convolution{node.attributes.as<Conv2dFusedAttributes>(), node.inputs, node.outputs};
    if (!is_op(graph, anchor, conv2d_op)) return std::nullopt;
    const auto& a = node.attributes.as<Conv2dAttributes>();
    return Convolution{{a.stride, a.pad}, {node.inputs[0], kNone, kNone, node.inputs[1]}, node.outputs};
}

bool replace_if_fast(Graph& graph, NodeId anchor, const Convolution& conv, const KernelTable& kernels) {
    if (!has_fast_kernel(kernels, graph, conv2d_fused_op, conv.attributes, conv.inputs)) return false;
    replace_node(graph, anchor, conv2d_fused_op, conv.attributes, conv.inputs, conv.outputs);
    return true;
}

bool take_statistics(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    auto conv = convolution_at(graph, anchor);
    if (!conv || conv->attributes.statistics) return false;
    const std::vector<NodeId> users = users_of_op(graph, conv->outputs[0], channel_statistics_op);
    if (users.empty()) return false;
    conv->attributes.statistics = true;
    conv->outputs.push_back(graph.node(users[0]).outputs[0]);
    if (!replace_if_fast(graph, anchor, *conv, kernels)) return false;
    remove_node(graph, users[0]);
    return true;
}

bool take_affine(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    auto conv = convolution_at(graph, anchor);
    if (!conv || conv->attributes.input_affine) return false;
    const NodeId producer = producer_of(graph, conv->inputs[in::kX], channel_affine_op);
    if (producer == kNone) return false;
    const Node affine = graph.node(producer);
    conv->attributes.input_affine = true;
    conv->attributes.input_relu = affine.attributes.as<ChannelAffineAttributes>().relu;
    for (std::size_t i = 0; i < 3; ++i) conv->inputs[in::kX + i] = affine.inputs[i];
    if (!replace_if_fast(graph, anchor, *conv, kernels)) return false;
    remove_if_unused(graph, producer);
    return true;
}

}  // namespace

const Rewrite conv2d_takes_statistics = {"conv2d_takes_statistics", 30, take_statistics};
const Rewrite conv2d_takes_affine = {"conv2d_takes_affine", 30, take_affine};

}  // namespace mpt
