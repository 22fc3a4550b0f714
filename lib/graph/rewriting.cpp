#include "graph/rewriting.h"

#include <algorithm>

#include "core/error.h"

namespace mpt {

NodeId producer_of(const Graph& graph, ValueId id) {
    if (id == kNone || graph.value(id).kind != ValueKind::kIntermediate) return kNone;
    const auto produces = [&](NodeId n) {
        return graph.node(n).op != nullptr &&
               std::ranges::find(graph.node(n).outputs, id) != graph.node(n).outputs.end();
    };
    const NodeId known = graph.value(id).producer;
    if (known != kNone && known < static_cast<NodeId>(graph.nodes.size()) && produces(known)) return known;
    for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n)
        if (produces(n)) return n;
    return kNone;
}

NodeId producer_of(const Graph& graph, ValueId id, const OpType& op) {
    const NodeId node = producer_of(graph, id);
    return node != kNone && graph.node(node).op == &op ? node : kNone;
}

bool is_op(const Graph& graph, NodeId id, const OpType& op) {
    return id != kNone && graph.node(id).op == &op;
}

bool only_user_is(const Graph& graph, ValueId id, NodeId user) {
    return !graph.is_output(id) && graph.users(id) == std::vector<NodeId>{user};
}

std::vector<NodeId> users_of_op(const Graph& graph, ValueId id, const OpType& op) {
    std::vector<NodeId> users = graph.users(id);
    std::erase_if(users, [&](NodeId n) { return graph.node(n).op != &op; });
    return users;
}

bool depends_on(const Graph& graph, ValueId value, NodeId from) {
    std::vector<bool> seen(graph.nodes.size());
    std::vector<NodeId> open = {producer_of(graph, value)};
    while (!open.empty()) {
        const NodeId next = open.back();
        open.pop_back();
        if (next == kNone || seen[static_cast<std::size_t>(next)]) continue;
        seen[static_cast<std::size_t>(next)] = true;
        if (next == from) return true;
        for (const ValueId input : graph.node(next).inputs) open.push_back(producer_of(graph, input));
    }
    return false;
}

std::vector<ValueId> append_node(Graph& graph, const Node& like, const OpType& op, Attributes attributes,
                                 std::vector<ValueId> inputs, const std::string& suffix,
                                 std::vector<ValueId> outputs) {
    Node node;
    node.phase = like.phase;
    node.block = like.block;
    const std::string base = like.name + suffix;
    const auto taken = [&](const std::string& name) {
        return std::ranges::any_of(graph.nodes, [&](const Node& n) { return n.name == name; });
    };
    node.name = base;
    for (int number = 2; taken(node.name); ++number) node.name = base + "_" + std::to_string(number);
    graph.nodes.push_back(std::move(node));
    return replace_node(graph, static_cast<NodeId>(graph.nodes.size()) - 1, op, std::move(attributes),
                        std::move(inputs), std::move(outputs));
}

std::vector<ValueId> replace_node(Graph& graph, NodeId at, const OpType& op, Attributes attributes,
                                  std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
    Node node = graph.node(at);
    node.op = &op;
    node.attributes = std::move(attributes);
    node.inputs = std::move(inputs);
    const std::vector<TensorType> types = op.infer(node.attributes, input_types(graph, node));
    if (outputs.empty()) outputs.assign(types.size(), kNone);
    MPT_CHECK(types.size() == outputs.size(), node.name + " got another number of outputs than it infers");
    for (std::size_t o = 0; o < types.size(); ++o) {
        if (outputs[o] == kNone) {
            outputs[o] = static_cast<ValueId>(graph.values.size());
            graph.values.push_back(
                {types.size() == 1 ? node.name : node.name + ":" + std::to_string(o), types[o]});
        }
        Value& value = graph.value(outputs[o]);
        MPT_CHECK(value.type == types[o], node.name + " changes the type of " + value.name);
        value.producer = at;
        value.output_index = static_cast<int>(o);
    }
    node.outputs = std::move(outputs);
    graph.node(at) = std::move(node);
    return graph.node(at).outputs;
}

void remove_node(Graph& graph, NodeId id) {
    graph.node(id).op = nullptr;
}

void remove_if_unused(Graph& graph, NodeId id) {
    if (id == kNone || graph.node(id).op == nullptr) return;
    for (const ValueId output : graph.node(id).outputs)
        if (graph.is_output(output) || !graph.users(output).empty()) return;
    remove_node(graph, id);
}

const Kernel* kernel_for(const KernelTable& kernels, const Graph& graph, const OpType& op,
                         const Attributes& attributes, const std::vector<ValueId>& inputs) {
    Signature signature;
    signature.op = &op;
    signature.attributes = attributes;
    for (const ValueId id : inputs) {
        signature.inputs.push_back(id == kNone ? TensorType{} : graph.type(id));
        signature.present.push_back(id != kNone);
    }
    signature.outputs = op.infer(attributes, signature.inputs);
    return choose_kernel(kernels, signature, nullptr);
}

bool has_fast_kernel(const KernelTable& kernels, const Graph& graph, const OpType& op,
                     const Attributes& attributes, const std::vector<ValueId>& inputs) {
    const Kernel* kernel = kernel_for(kernels, graph, op, attributes, inputs);
    // "own": what a GPU falls back on where its library knows no such fused form.
    return kernel != nullptr && kernel->name != "ref" && kernel->name != "own";
}

}  // namespace mpt
