#include "graph/graph.h"

#include <algorithm>
#include <queue>

#include "core/error.h"
#include "graph/op.h"

namespace mpt {

const char* name_of(Phase phase) {
    switch (phase) {
        case Phase::kForward:
            return "forward";
        case Phase::kBackward:
            return "backward";
        case Phase::kUpdate:
            return "update";
    }
    return "?";
}

ValueId Graph::output(const std::string& output_name) const {
    for (const Output& o : outputs)
        if (o.name == output_name) return o.value;
    MPT_CHECK(false, "graph " + name + " has no output " + output_name);
    return kNone;
}

ValueId Graph::input(const std::string& input_name) const {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i].kind == ValueKind::kInput && values[i].name == input_name)
            return static_cast<ValueId>(i);
    MPT_CHECK(false, "graph " + name + " has no input " + input_name);
    return kNone;
}

std::vector<NodeId> Graph::users(ValueId id) const {
    std::vector<NodeId> found;
    for (std::size_t n = 0; n < nodes.size(); ++n)
        if (nodes[n].op != nullptr && std::ranges::find(nodes[n].inputs, id) != nodes[n].inputs.end())
            found.push_back(static_cast<NodeId>(n));
    return found;
}

bool Graph::is_output(ValueId id) const {
    return std::ranges::any_of(outputs, [&](const Output& o) { return o.value == id; });
}

void Graph::replace_uses(ValueId from, ValueId to) {
    for (Node& n : nodes) std::ranges::replace(n.inputs, from, to);
    for (Output& o : outputs)
        if (o.value == from) o.value = to;
}

namespace {

// Besides data flow, an in-place update of a stored value must come after every reader of the old value.
std::vector<std::vector<NodeId>> predecessors(const Graph& graph) {
    std::vector<NodeId> producer(graph.values.size(), kNone);
    std::vector<std::vector<NodeId>> readers(graph.values.size());
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        if (graph.nodes[n].op == nullptr) continue;
        for (const ValueId out : graph.nodes[n].outputs)
            producer[static_cast<std::size_t>(out)] = static_cast<NodeId>(n);
        for (const ValueId in : graph.nodes[n].inputs)
            if (in != kNone) readers[static_cast<std::size_t>(in)].push_back(static_cast<NodeId>(n));
    }
    std::vector<std::vector<NodeId>> before(graph.nodes.size());
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        if (node.op == nullptr) continue;
        for (const ValueId in : node.inputs)
            if (in != kNone && producer[static_cast<std::size_t>(in)] != kNone)
                before[n].push_back(producer[static_cast<std::size_t>(in)]);
        for (const Alias alias : node.op->must_alias) {
            const ValueId old_value = node.inputs[static_cast<std::size_t>(alias.input)];
            if (old_value == kNone) continue;
            for (const NodeId reader : readers[static_cast<std::size_t>(old_value)])
                if (reader != static_cast<NodeId>(n)) before[n].push_back(reader);
        }
        std::ranges::sort(before[n]);
        before[n].erase(std::ranges::unique(before[n]).begin(), before[n].end());
    }
    return before;
}

using Rank = std::pair<NodeId, NodeId>;

// Live nodes in an order that respects `before`; of those that are ready, the one of the lowest rank first.
std::vector<NodeId> ordered(const std::vector<Node>& nodes, const std::vector<std::vector<NodeId>>& before,
                            const std::vector<NodeId>& rank) {
    std::vector<std::vector<NodeId>> after(nodes.size());
    std::vector<std::size_t> waiting(nodes.size());
    std::priority_queue<Rank, std::vector<Rank>, std::greater<>> ready;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].op == nullptr) continue;
        waiting[n] = before[n].size();
        for (const NodeId p : before[n]) after[static_cast<std::size_t>(p)].push_back(static_cast<NodeId>(n));
        if (waiting[n] == 0) ready.push({rank[n], static_cast<NodeId>(n)});
    }
    std::vector<NodeId> order;
    while (!ready.empty()) {
        const NodeId next = ready.top().second;
        ready.pop();
        order.push_back(next);
        for (const NodeId a : after[static_cast<std::size_t>(next)])
            if (--waiting[static_cast<std::size_t>(a)] == 0)
                ready.push({rank[static_cast<std::size_t>(a)], a});
    }
    return order;
}

}  // namespace

void Graph::reorder() {
    const std::vector<std::vector<NodeId>> before = predecessors(*this);
    // A node ranks where its first user does: an appended node then runs right before it is needed, and not
    // after everything else that is ready (forward nodes repeated in the backward phase are ready early).
    std::vector<NodeId> rank(nodes.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) rank[n] = static_cast<NodeId>(n);
    std::vector<NodeId> order = ordered(nodes, before, rank);
    const auto live = std::ranges::count_if(nodes, [](const Node& n) { return n.op != nullptr; });
    MPT_CHECK(static_cast<std::ptrdiff_t>(order.size()) == live, "graph " + name + " has a cycle");
    for (auto n = order.rbegin(); n != order.rend(); ++n)
        for (const NodeId p : before[static_cast<std::size_t>(*n)])
            rank[static_cast<std::size_t>(p)] =
                std::min(rank[static_cast<std::size_t>(p)], rank[static_cast<std::size_t>(*n)]);
    std::vector<Node> sorted;
    sorted.reserve(order.size());
    for (const NodeId n : ordered(nodes, before, rank)) sorted.push_back(std::move(node(n)));
    nodes = std::move(sorted);
    for (Value& v : values) v.producer = kNone;
    for (std::size_t n = 0; n < nodes.size(); ++n)
        for (std::size_t o = 0; o < nodes[n].outputs.size(); ++o) {
            Value& v = value(nodes[n].outputs[o]);
            v.producer = static_cast<NodeId>(n);
            v.output_index = static_cast<int>(o);
        }
}

namespace {

std::string print(const TensorType& type) {
    return to_string(type.shape) + std::string(name_of(type.dtype));
}

}  // namespace

std::string print(const Graph& graph) {
    std::string text = "graph " + graph.name + "\n";
    for (const Value& v : graph.values) {
        if (v.producer != kNone || v.kind == ValueKind::kIntermediate) continue;
        bool used = false;
        const ValueId id = static_cast<ValueId>(&v - graph.values.data());
        for (const Node& n : graph.nodes) used = used || std::ranges::find(n.inputs, id) != n.inputs.end();
        if (!used) continue;
        text += v.kind == ValueKind::kInput ? "  input " : "  stored ";
        text += v.name + ":" + print(v.type);
        if (v.store) text += std::string(" @") + name_of(v.store->region);
        text += "\n";
    }
    for (const Node& n : graph.nodes) {
        if (n.op == nullptr) continue;
        text += "  " + n.name + ": ";
        for (std::size_t o = 0; o < n.outputs.size(); ++o)
            text += (o ? ", " : "") + graph.value(n.outputs[o]).name + ":" + print(graph.type(n.outputs[o]));
        text += " = " + std::string(n.op->name) + "(";
        for (std::size_t i = 0; i < n.inputs.size(); ++i)
            text +=
                (i ? ", " : "") + (n.inputs[i] == kNone ? std::string("-") : graph.value(n.inputs[i]).name);
        text += ")";
        if (const std::string attributes = n.attributes.text(); !attributes.empty()) text += " " + attributes;
        text += "\n";
    }
    for (const Graph::Output& o : graph.outputs)
        text += "  output " + o.name + " = " + graph.value(o.value).name + "\n";
    return text;
}

}  // namespace mpt
