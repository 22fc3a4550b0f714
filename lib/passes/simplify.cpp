#include "passes/simplify.h"

#include <algorithm>

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

bool merge_common_subexpressions(Graph& graph) {
    bool changed = false;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        if (graph.nodes[i].op == nullptr) continue;
        for (std::size_t j = i + 1; j < graph.nodes.size(); ++j) {
            if (graph.nodes[j].op == nullptr || !same_computation(graph.nodes[i], graph.nodes[j])) continue;
            const std::vector<ValueId> old = graph.nodes[j].outputs;
            graph.nodes[j].op = nullptr;
            for (std::size_t o = 0; o < old.size(); ++o)
                graph.replace_uses(old[o], graph.nodes[i].outputs[o]);
            changed = true;
        }
    }
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
