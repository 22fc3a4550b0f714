#include "passes/recompute.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "graph/op.h"

namespace mpt {

namespace {

bool is_repeatable(const Node& node) {
    return node.phase == Phase::kForward && node.block != kNone && node.op->must_alias.empty();
}

// Values of repeatable nodes that only their own block reads in the forward direction.
std::vector<bool> inner_values(const Graph& graph) {
    std::vector<bool> inner(graph.values.size(), false);
    for (const Node& node : graph.nodes)
        if (is_repeatable(node))
            for (const ValueId out : node.outputs)
                inner[static_cast<std::size_t>(out)] = !graph.is_output(out);
    for (const Node& reader : graph.nodes)
        for (const ValueId in : reader.inputs) {
            if (in == kNone || !inner[static_cast<std::size_t>(in)] || reader.phase != Phase::kForward)
                continue;
            const Node& producer = graph.node(graph.value(in).producer);
            if (producer.block != reader.block) inner[static_cast<std::size_t>(in)] = false;
        }
    return inner;
}

class Recomputer {
  public:
    explicit Recomputer(Graph& graph) : graph_(graph), inner_(inner_values(graph)) {}

    void run() {
        const std::vector<Node> old = std::move(graph_.nodes);
        graph_.nodes.clear();
        originals_ = old;
        for (Node node : old) {
            if (node.phase == Phase::kBackward)
                for (ValueId& in : node.inputs)
                    if (in != kNone) in = again(in);
            graph_.nodes.push_back(std::move(node));
        }
        graph_.reorder();
    }

  private:
    // The value that stands for `id` in the backward phase.
    ValueId again(ValueId id) {
        if (static_cast<std::size_t>(id) >= inner_.size() || !inner_[static_cast<std::size_t>(id)]) return id;
        if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
        Node copy = originals_[static_cast<std::size_t>(graph_.value(id).producer)];
        for (ValueId& in : copy.inputs)
            if (in != kNone) in = again(in);
        copy.name += ".recompute";
        copy.phase = Phase::kBackward;
        for (ValueId& out : copy.outputs) {
            Value value = graph_.value(out);
            value.name += ".recompute";
            graph_.values.push_back(std::move(value));
            const ValueId fresh = static_cast<ValueId>(graph_.values.size()) - 1;
            copies_[out] = fresh;
            out = fresh;
        }
        graph_.nodes.push_back(std::move(copy));
        return copies_.at(id);
    }

    Graph& graph_;
    std::vector<bool> inner_;
    std::vector<Node> originals_;
    std::map<ValueId, ValueId> copies_;
};

}  // namespace

void recompute_blocks(Graph& graph) {
    Recomputer(graph).run();
}

}  // namespace mpt
