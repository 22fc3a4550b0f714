#include "ops/conv2d_backward_fused/rewrites.h"

#include <algorithm>

#include "graph/rewriting.h"
#include "ops/accumulate/accumulate.h"
#include "ops/add/add.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d_backward_fused/conv2d_backward_fused.h"
#include "ops/relu/relu.h"

namespace mpt {

namespace {

namespace in = conv2d_backward_fused_input;

// A fused backward convolution taken apart, to be put back with more in it.
struct Backward {
    Conv2dBackwardFusedAttributes attributes;
    std::vector<ValueId> inputs = std::vector<ValueId>(in::kCount, kNone);
    ValueId buffer = kNone, grad_x = kNone, reductions = kNone;  // outputs

    ValueId& input(int index) { return inputs[static_cast<std::size_t>(index)]; }
};

std::optional<Backward> backward_at(const Graph& graph, NodeId id) {
    if (id == kNone) return std::nullopt;
    const Node& node = graph.node(id);
    if (node.op != &conv2d_backward_fused_op && node.op != &conv2d_backward_data_fused_op &&
        node.op != &conv2d_backward_weight_fused_op)
        return std::nullopt;
    Backward b;
    b.attributes = node.attributes.as<Conv2dBackwardFusedAttributes>();
    b.inputs = node.inputs;
    const Conv2dBackwardFusedOutputs places = outputs_of(b.attributes);
    const auto output = [&](int place) {
        return place == kNone ? kNone : node.outputs[static_cast<std::size_t>(place)];
    };
    b.buffer = output(places.buffer);
    b.grad_x = output(places.grad_x);
    b.reductions = output(places.reductions);
    return b;
}

bool replace_if_fast(Graph& graph, NodeId at, const Backward& b, const KernelTable& kernels) {
    const OpType& op = conv2d_backward_fused_op_for(b.attributes);
    if (!has_fast_kernel(kernels, graph, op, b.attributes, b.inputs)) return false;
    std::vector<ValueId> outputs;
    for (const ValueId output : {b.buffer, b.grad_x, b.reductions})
        if (output != kNone) outputs.push_back(output);
    replace_node(graph, at, op, b.attributes, b.inputs, outputs);
    return true;
}

// The accumulate that alone reads the weight gradient of node `weight`, or kNone.
NodeId accumulate_of(const Graph& graph, NodeId weight) {
    const ValueId grad_w = graph.node(weight).outputs[0];
    const std::vector<NodeId> users = graph.users(grad_w);
    if (users.size() != 1 || !is_op(graph, users[0], accumulate_op) || graph.is_output(grad_w)) return kNone;
    return graph.node(users[0]).inputs[1] == grad_w ? users[0] : kNone;
}

void fill_weight(Backward& b, const Node& weight, const Node& accumulate, const Graph& graph) {
    const auto& a = weight.attributes.as<Conv2dBackwardWeightAttributes>();
    const Shape& x = graph.type(weight.inputs[1]).shape;
    b.attributes.stride = a.stride;
    b.attributes.pad = a.pad;
    b.attributes.height = x[1];
    b.attributes.width = x[2];
    b.attributes.kernel_h = a.kernel_h;
    b.attributes.kernel_w = a.kernel_w;
    b.attributes.need_weight = true;
    b.input(in::kG) = weight.inputs[0];
    b.input(in::kX) = weight.inputs[1];
    b.input(in::kBuffer) = accumulate.inputs[0];
    b.buffer = accumulate.outputs[0];
}

void fill_data(Backward& b, const Node& data, const Graph& graph) {
    const auto& a = data.attributes.as<Conv2dBackwardDataAttributes>();
    const Shape& w = graph.type(data.inputs[1]).shape;
    b.attributes.stride = a.stride;
    b.attributes.pad = a.pad;
    b.attributes.height = a.height;
    b.attributes.width = a.width;
    b.attributes.kernel_h = w[1];
    b.attributes.kernel_w = w[2];
    b.attributes.need_data = true;
    b.input(in::kG) = data.inputs[0];
    b.input(in::kW) = data.inputs[1];
    b.grad_x = data.outputs[0];
}

bool same_convolution(const Graph& graph, const Node& data, const Node& weight) {
    const auto& d = data.attributes.as<Conv2dBackwardDataAttributes>();
    const auto& w = weight.attributes.as<Conv2dBackwardWeightAttributes>();
    return d.stride == w.stride && d.pad == w.pad &&
           graph.type(data.outputs[0]) == graph.type(weight.inputs[1]) &&
           graph.type(data.inputs[1]).shape == graph.type(weight.outputs[0]).shape;
}

bool form_both(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, conv2d_backward_data_op)) return false;
    const Node data = graph.node(anchor);
    for (const NodeId id : users_of_op(graph, data.inputs[0], conv2d_backward_weight_op)) {
        const Node weight = graph.node(id);
        const NodeId accumulate = accumulate_of(graph, id);
        if (weight.inputs[0] != data.inputs[0] || accumulate == kNone) continue;
        if (!same_convolution(graph, data, weight) || depends_on(graph, weight.inputs[1], anchor)) continue;
        Backward b;
        fill_weight(b, weight, graph.node(accumulate), graph);
        fill_data(b, data, graph);
        if (!replace_if_fast(graph, anchor, b, kernels)) continue;
        remove_node(graph, id);
        remove_node(graph, accumulate);
        return true;
    }
    return false;
}

bool form_data(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, conv2d_backward_data_op)) return false;
    Backward b;
    fill_data(b, graph.node(anchor), graph);
    return replace_if_fast(graph, anchor, b, kernels);
}

bool form_weight(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, conv2d_backward_weight_op)) return false;
    const NodeId accumulate = accumulate_of(graph, anchor);
    if (accumulate == kNone) return false;
    Backward b;
    fill_weight(b, graph.node(anchor), graph.node(accumulate), graph);
    if (!replace_if_fast(graph, anchor, b, kernels)) return false;
    remove_node(graph, accumulate);
    return true;
}

bool take_combine(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    auto b = backward_at(graph, anchor);
    if (!b || b->attributes.grad_affine) return false;
    const NodeId producer = producer_of(graph, b->input(in::kG), channel_combine_op);
    if (producer == kNone) return false;
    const Node combine = graph.node(producer);
    b->attributes.grad_affine = true;
    for (int i = 0; i < 5; ++i) b->input(in::kG + i) = combine.inputs[static_cast<std::size_t>(i)];
    if (!replace_if_fast(graph, anchor, *b, kernels)) return false;
    remove_if_unused(graph, producer);
    return true;
}

bool take_affine(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    auto b = backward_at(graph, anchor);
    if (!b || b->attributes.input_affine) return false;
    const NodeId producer = producer_of(graph, b->input(in::kX), channel_affine_op);
    if (producer == kNone) return false;
    const Node affine = graph.node(producer);
    b->attributes.input_affine = true;
    b->attributes.input_relu = affine.attributes.as<ChannelAffineAttributes>().relu;
    if (b->attributes.mask == InputMask::kInput) b->attributes.mask = InputMask::kInputAffine;
    for (int i = 0; i < 3; ++i) b->input(in::kX + i) = affine.inputs[static_cast<std::size_t>(i)];
    if (!replace_if_fast(graph, anchor, *b, kernels)) return false;
    remove_if_unused(graph, producer);
    return true;
}

// Whether `user` alone reads grad_x, and nothing but the product is in it so far.
bool is_open_for(const Graph& graph, const Backward& b, NodeId user) {
    return b.grad_x != kNone && b.attributes.mask == InputMask::kOff && !b.attributes.reductions &&
           only_user_is(graph, b.grad_x, user);
}

bool take_addend(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, add_op)) return false;
    const Node sum = graph.node(anchor);
    if (sum.inputs[0] == sum.inputs[1]) return false;
    std::pair<NodeId, ValueId> candidates[2] = {{producer_of(graph, sum.inputs[0]), sum.inputs[1]},
                                                {producer_of(graph, sum.inputs[1]), sum.inputs[0]}};
    // The later one: the other is then there already.
    if (candidates[0].first < candidates[1].first) std::swap(candidates[0], candidates[1]);
    for (const auto& [id, other] : candidates) {
        auto b = backward_at(graph, id);
        if (!b || b->attributes.add || !is_open_for(graph, *b, anchor)) continue;
        if (depends_on(graph, other, id)) continue;
        b->attributes.add = true;
        b->input(in::kAddend) = other;
        b->grad_x = sum.outputs[0];
        if (!replace_if_fast(graph, id, *b, kernels)) continue;
        remove_node(graph, anchor);
        return true;
    }
    return false;
}

// The mask that `activation` is for `b`, whose x may be that activation or what it is computed from.
std::optional<InputMask> mask_by(const Graph& graph, Backward& b, ValueId activation) {
    if (b.input(in::kX) == kNone || b.input(in::kX) == activation) {
        if (b.attributes.input_affine) return std::nullopt;
        b.input(in::kX) = activation;
        return InputMask::kInput;
    }
    const NodeId affine = producer_of(graph, activation, channel_affine_op);
    if (affine == kNone || !b.attributes.input_affine) return std::nullopt;
    const std::vector<ValueId>& from = graph.node(affine).inputs;
    return std::ranges::equal(from, std::span(b.inputs).first(3)) ? std::optional(InputMask::kInputAffine)
                                                                  : std::nullopt;
}

bool take_mask(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, relu_backward_op)) return false;
    const Node relu = graph.node(anchor);
    const NodeId id = producer_of(graph, relu.inputs[0]);
    auto b = backward_at(graph, id);
    if (!b || !is_open_for(graph, *b, anchor) || depends_on(graph, relu.inputs[1], id)) return false;
    const auto mask = mask_by(graph, *b, relu.inputs[1]);
    if (!mask) return false;
    b->attributes.mask = *mask;
    b->grad_x = relu.outputs[0];
    if (!replace_if_fast(graph, id, *b, kernels)) return false;
    const NodeId affine = producer_of(graph, relu.inputs[1], channel_affine_op);
    remove_node(graph, anchor);
    remove_if_unused(graph, affine);
    return true;
}

bool take_reductions(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, channel_reductions_op)) return false;
    const Node reductions = graph.node(anchor);
    const NodeId id = producer_of(graph, reductions.inputs[0]);
    auto b = backward_at(graph, id);
    if (!b || b->attributes.reductions || b->grad_x != reductions.inputs[0]) return false;
    b->attributes.reductions = true;
    b->attributes.num_references = reductions.attributes.as<ChannelReductionsAttributes>().num_references;
    for (int i = 0; i < b->attributes.num_references; ++i) {
        const ValueId reference = reductions.inputs[static_cast<std::size_t>(1 + i)];
        if (depends_on(graph, reference, id)) return false;
        b->input(in::kRef1 + i) = reference;
    }
    b->reductions = reductions.outputs[0];
    if (!replace_if_fast(graph, id, *b, kernels)) return false;
    remove_node(graph, anchor);
    return true;
}

}  // namespace

void add_conv2d_backward_rewrites(OpTable& table) {
    table.add(Rewrite{"conv2d_backward_both", 40, form_both});
    table.add(Rewrite{"conv2d_backward_data_alone", 50, form_data});
    table.add(Rewrite{"conv2d_backward_weight_alone", 50, form_weight});
    table.add(Rewrite{"conv2d_backward_takes_combine", 60, take_combine});
    table.add(Rewrite{"conv2d_backward_takes_affine", 60, take_affine});
    table.add(Rewrite{"conv2d_backward_takes_addend", 60, take_addend});
    table.add(Rewrite{"conv2d_backward_takes_mask", 60, take_mask});
    table.add(Rewrite{"conv2d_backward_takes_reductions", 70, take_reductions});
}

}  // namespace mpt
