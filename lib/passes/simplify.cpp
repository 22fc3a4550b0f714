#include "passes/simplify.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "graph/op.h"

namespace mpt {

namespace {

bool remove_cast_round_trips(Graph& graph) {
    const OpType* cast = op_table().roles.cast_op;
    bool changed = false;
    for (Node& node : graph.nodes) {
        if (node.op != cast) continue;
        ValueId source = node.inputs[0];
        const NodeId before = graph.value(source).producer;
        // Widening and narrowing again is exact; narrowing first is not.
        if (before != kNone && graph.node(before).op == cast && graph.type(source).dtype == DType::f32) {
            const ValueId origin = graph.node(before).inputs[0];
            if (graph.type(origin).dtype == graph.type(node.outputs[0]).dtype) source = origin;
        }
        if (graph.type(source) != graph.type(node.outputs[0])) continue;
        const ValueId old = node.outputs[0];
        node.op = nullptr;
        graph.replace_uses(old, source);
        changed = true;
    }
    graph.reorder();
    return changed;
}

bool same_computation(const Node& a, const Node& b) {
    return a.op == b.op && a.phase == b.phase && a.inputs == b.inputs && a.op->must_alias.empty() &&
           a.attributes == b.attributes;
}

// Nodes that may compute the same as another have equal keys.
std::size_t key_of(const Node& node) {
    std::size_t key = std::hash<const void*>()(node.op) + static_cast<std::size_t>(node.phase);
    for (const ValueId in : node.inputs) key = key * 1000003 + static_cast<std::size_t>(in + 1);
    return key;
}

// Each node merges with the first that computes the same. Inputs come before their readers, so what a node
// reads is known to be merged or not when its turn comes.
bool merge_common_subexpressions(Graph& graph) {
    std::vector<ValueId> now(graph.values.size());  // what stands for a value
    std::iota(now.begin(), now.end(), 0);
    std::unordered_map<std::size_t, std::vector<NodeId>> known;
    bool changed = false;
    for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
        Node& node = graph.node(n);
        if (node.op == nullptr) continue;
        for (ValueId& in : node.inputs)
            if (in != kNone) in = now[static_cast<std::size_t>(in)];
        std::vector<NodeId>& alike = known[key_of(node)];
        const auto first = std::ranges::find_if(
            alike, [&](NodeId other) { return same_computation(graph.node(other), node); });
        if (first == alike.end()) {
            alike.push_back(n);
            continue;
        }
        for (std::size_t o = 0; o < node.outputs.size(); ++o)
            now[static_cast<std::size_t>(node.outputs[o])] = graph.node(*first).outputs[o];
        node.op = nullptr;
        changed = true;
    }
    for (Graph::Output& output : graph.outputs) output.value = now[static_cast<std::size_t>(output.value)];
    graph.reorder();
    return changed;
}

}  // namespace

void remove_dead_nodes(Graph& graph) {
    std::vector<bool> needed(graph.values.size(), false);
    for (const Graph::Output& output : graph.outputs) needed[static_cast<std::size_t>(output.value)] = true;
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
        if (node->op == nullptr) continue;
        // An update of stored memory is an effect of its own.
        const bool live =
            !node->op->must_alias.empty() || std::ranges::any_of(node->outputs, [&](ValueId out) {
                return needed[static_cast<std::size_t>(out)];
            });
        if (!live) {
            node->op = nullptr;
            continue;
        }
        for (const ValueId in : node->inputs)
            if (in != kNone) needed[static_cast<std::size_t>(in)] = true;
    }
    graph.reorder();
}

void simplify(Graph& graph) {
    bool changed = true;
    while (changed) {
        changed = remove_cast_round_trips(graph);
        changed = merge_common_subexpressions(graph) || changed;
    }
    remove_dead_nodes(graph);
}

}  // namespace mpt
