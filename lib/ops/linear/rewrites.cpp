#include "ops/linear/rewrites.h"

#include <algorithm>

#include "graph/rewriting.h"
#include "ops/accumulate/accumulate.h"
#include "ops/gelu/gelu.h"
#include "ops/linear/linear.h"
#include "ops/relu/relu.h"
#include "ops/silu/silu.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

namespace {

// The activation that a node is, or whose gradient it is.
Pointwise activation_of(const Node& node) {
    if (node.op == &relu_op) return Pointwise::kRelu;
    if (node.op == &silu_op) return Pointwise::kSilu;
    if (node.op == &gelu_op) return activation_of(node.attributes.as<GeluAttributes>().form);
    return Pointwise::kIdentity;
}
Pointwise activation_of_gradient(const Node& node) {
    if (node.op == &relu_backward_op) return Pointwise::kRelu;
    if (node.op == &silu_backward_op) return Pointwise::kSilu;
    if (node.op == &gelu_backward_op) return activation_of(node.attributes.as<GeluAttributes>().form);
    return Pointwise::kIdentity;
}

// Which input of `node` can be x instead of f(x); kNone if there is none. The gradient of relu asks only for
// the sign, which both have.
int place_of_x(const Node& node) {
    if (node.op == &linear_op) return 0;
    if (node.op == &linear_backward_weight_op || node.op == &relu_backward_op) return 1;
    return kNone;
}

bool take_activation(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    const Node node = graph.node(anchor);
    const Pointwise activation = activation_of(node);
    if (activation == Pointwise::kIdentity || graph.is_output(node.outputs[0])) return false;
    const ValueId x = node.inputs[0], y = node.outputs[0];
    const std::vector<NodeId> users = graph.users(y);
    bool feeds_linear = false;
    for (const NodeId id : users) {
        Node user = graph.node(id);
        const int place = place_of_x(user);
        if (place == kNone || user.inputs[static_cast<std::size_t>(place)] != y ||
            std::ranges::count(user.inputs, y) != 1)
            return false;
        if (user.op == &relu_backward_op) continue;
        feeds_linear = true;
        user.inputs[static_cast<std::size_t>(place)] = x;
        if (user.attributes.as<LinearAttributes>().of_input != Pointwise::kIdentity ||
            !has_fast_kernel(kernels, graph, *user.op, LinearAttributes{activation}, user.inputs))
            return false;
    }
    if (!feeds_linear) return false;
    for (const NodeId id : users) {
        Node& user = graph.node(id);
        user.inputs[static_cast<std::size_t>(place_of_x(user))] = x;
        if (user.op != &relu_backward_op) user.attributes = LinearAttributes{activation};
    }
    remove_node(graph, anchor);
    return true;
}

bool take_derivative(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    const Node through = graph.node(anchor);
    const Pointwise activation = activation_of_gradient(through);
    if (activation == Pointwise::kIdentity) return false;
    const NodeId data = producer_of(graph, through.inputs[0], linear_backward_data_op);
    if (data == kNone || !only_user_is(graph, through.inputs[0], anchor)) return false;
    const Node product = graph.node(data);
    std::vector<ValueId> inputs = product.inputs;
    if (inputs.size() > 2) return false;
    inputs.push_back(through.inputs[1]);
    if (graph.type(inputs[2]) != graph.type(product.outputs[0]) ||
        !has_fast_kernel(kernels, graph, linear_backward_data_op, LinearAttributes{activation}, inputs))
        return false;
    replace_node(graph, data, linear_backward_data_op, LinearAttributes{activation}, inputs, through.outputs);
    remove_node(graph, anchor);
    return true;
}

bool take_accumulate(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, accumulate_op)) return false;
    const Node sum = graph.node(anchor);
    const NodeId weight = producer_of(graph, sum.inputs[1], linear_backward_weight_op);
    if (weight == kNone || !only_user_is(graph, sum.inputs[1], anchor)) return false;
    const Node product = graph.node(weight);
    const std::vector<ValueId> inputs = {sum.inputs[0], product.inputs[0], product.inputs[1]};
    if (!has_fast_kernel(kernels, graph, linear_backward_weight_accumulate_op, product.attributes, inputs))
        return false;
    replace_node(graph, weight, linear_backward_weight_accumulate_op, product.attributes, inputs,
                 sum.outputs);
    remove_node(graph, anchor);
    return true;
}

bool take_bias(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, sum_rows_op)) return false;
    const Node sums = graph.node(anchor);
    for (const NodeId id : users_of_op(graph, sums.inputs[0], linear_backward_weight_accumulate_op)) {
        const Node weight = graph.node(id);
        if (weight.inputs[1] != sums.inputs[0] || weight.inputs[2] == sums.inputs[0] ||
            weight.attributes != Attributes(LinearAttributes{}) ||
            !has_fast_kernel(kernels, graph, linear_backward_weight_bias_accumulate_op, weight.attributes,
                             weight.inputs))
            continue;
        replace_node(graph, id, linear_backward_weight_bias_accumulate_op, weight.attributes, weight.inputs,
                     {weight.outputs[0], sums.outputs[0]});
        remove_node(graph, anchor);
        return true;
    }
    return false;
}

}  // namespace

const Rewrite linear_takes_activation = {"linear_takes_activation", 20, take_activation};
const Rewrite linear_backward_data_takes_activation = {"linear_backward_data_takes_activation", 20,
                                                       take_derivative};
const Rewrite linear_backward_weight_takes_accumulate = {"linear_backward_weight_takes_accumulate", 30,
                                                         take_accumulate};
const Rewrite linear_backward_weight_takes_bias = {"linear_backward_weight_takes_bias", 40, take_bias};

}  // namespace mpt
