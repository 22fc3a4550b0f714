#include "passes/precision.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "graph/builder.h"
#include "graph/op.h"

namespace mpt {

bool matches(const std::string& pattern, const std::string& name) {
    std::size_t p = 0, n = 0, star = std::string::npos, retry = 0;
    while (n < name.size()) {
        if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p, ++n;
        } else if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            retry = n;
        } else if (star != std::string::npos) {
            p = star + 1;
            n = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

namespace {

// Rebuilds a graph node by node, putting casts in front of their first reader.
class CastInserter {
  public:
    explicit CastInserter(Graph& graph) : graph_(graph), builder_(graph), old_(std::move(graph.nodes)) {
        graph_.nodes.clear();
    }
    const std::vector<Node>& nodes() const { return old_; }

    ValueId as(ValueId id, DType dtype, const Node& reader) {
        if (graph_.type(id).dtype == dtype) return id;
        const auto key = std::make_pair(id, dtype);
        if (const auto known = casts_.find(key); known != casts_.end()) return known->second;
        builder_.set_phase(reader.phase);
        builder_.set_block(reader.block);
        const std::string name = graph_.value(id).name + "." + std::string(name_of(dtype));
        return casts_[key] = op_table().roles.cast(builder_, id, dtype, name);
    }

    // Appends the node with the types its op now infers.
    void append(Node node) {
        const std::vector<TensorType> types = node.op->infer(node.attributes, input_types(graph_, node));
        for (std::size_t o = 0; o < types.size(); ++o) graph_.value(node.outputs[o]).type = types[o];
        graph_.nodes.push_back(std::move(node));
    }

  private:
    Graph& graph_;
    GraphBuilder builder_;
    std::vector<Node> old_;
    std::map<std::pair<ValueId, DType>, ValueId> casts_;
};

DType wanted_type(const Graph& graph, const Node& node, const PrecisionPolicy& policy) {
    DType dtype = policy.narrow;
    bool overridden = false;
    for (const PrecisionPolicy::Override& override : policy.overrides)
        if (matches(override.match, node.name)) {
            dtype = override.dtype;
            overridden = true;
        }
    switch (node.op->precision) {
        case PrecisionClass::kNarrow:
            return dtype;
        case PrecisionClass::kWide:
            return DType::f32;
        case PrecisionClass::kFollow: {
            if (overridden) return dtype;
            for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
                if (is_data_input(graph, node, i))
                    return graph.type(node.inputs[static_cast<std::size_t>(i)]).dtype;
            return DType::f32;
        }
        default:
            MPT_CHECK(false, std::string(node.op->name) + " has no precision class");
    }
    return DType::f32;
}

}  // namespace

std::vector<std::string> unmatched_overrides(const Graph& graph, const PrecisionPolicy& policy) {
    std::vector<std::string> unmatched;
    for (const PrecisionPolicy::Override& override : policy.overrides)
        if (std::ranges::none_of(graph.nodes,
                                 [&](const Node& node) { return matches(override.match, node.name); }))
            unmatched.push_back(override.match);
    return unmatched;
}

void assign_precision(Graph& graph, const PrecisionPolicy& policy) {
    if (policy.narrow == DType::f32 && policy.overrides.empty()) return;
    CastInserter inserter(graph);
    for (Node node : inserter.nodes()) {
        if (node.op->precision != PrecisionClass::kFixed) {
            const DType dtype = wanted_type(graph, node, policy);
            for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
                if (is_data_input(graph, node, i)) {
                    ValueId& in = node.inputs[static_cast<std::size_t>(i)];
                    in = inserter.as(in, dtype, node);
                }
        }
        inserter.append(std::move(node));
    }
    graph.reorder();
}

namespace {

// The f32 value that a cast narrowed, so that a widened node does not read rounded operands; else the value
// itself.
ValueId before_rounding(const Graph& graph, ValueId id) {
    for (const Node& node : graph.nodes)
        if (node.op == op_table().roles.cast_op && node.outputs[0] == id &&
            graph.type(node.inputs[0]).dtype == DType::f32)
            return node.inputs[0];
    return id;
}

}  // namespace

std::vector<std::string> legalize_precision(Graph& graph, const KernelTable& kernels, int num_threads) {
    std::vector<std::string> said;
    std::map<ValueId, ValueId> narrowed_again;  // outputs of widened nodes, as their readers expect them
    CastInserter inserter(graph);
    for (Node node : inserter.nodes()) {
        for (ValueId& in : node.inputs)
            if (const auto known = narrowed_again.find(in); known != narrowed_again.end()) in = known->second;
        std::vector<std::string> refusals;
        if (choose_kernel(kernels, signature_of(graph, node, num_threads), &refusals) != nullptr) {
            inserter.append(std::move(node));
            continue;
        }
        std::string reasons;
        for (const std::string& refusal : refusals) reasons += (reasons.empty() ? "" : "; ") + refusal;
        said.push_back(node.name + " is widened to f32: " +
                       (reasons.empty() ? "no kernel for " + std::string(node.op->name) : reasons));
        for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
            if (is_data_input(graph, node, i)) {
                ValueId& in = node.inputs[static_cast<std::size_t>(i)];
                in = inserter.as(before_rounding(graph, in), DType::f32, node);
            }
        const std::vector<TensorType> expected = output_types(graph, node);
        inserter.append(node);
        for (std::size_t o = 0; o < expected.size(); ++o)
            if (graph.type(node.outputs[o]).dtype != expected[o].dtype) {
                const ValueId wide = node.outputs[o];
                narrowed_again[wide] = inserter.as(wide, expected[o].dtype, node);
            }
    }
    graph.reorder();
    return said;
}

void cast_into_update(Graph& graph, DType narrow, bool pure) {
    const Region region = pure ? Region::kMaster : Region::kNarrow;
    for (Node& node : graph.nodes) {
        if (node.op != op_table().roles.cast_op) continue;
        const Value parameter = graph.value(node.inputs[0]);
        const Value& copy = graph.value(node.outputs[0]);
        if (parameter.kind != ValueKind::kStored || parameter.store->region != Region::kMaster ||
            copy.type.dtype != narrow)
            continue;
        GraphBuilder builder(graph);
        const ValueId stored =
            builder.stored(parameter.name + "." + std::string(name_of(narrow)),
                           {parameter.type.shape, narrow}, {region, parameter.store->offset});
        const ValueId old = node.outputs[0];
        node.op = nullptr;
        graph.replace_uses(old, stored);
    }
    graph.reorder();
    if (!pure) return;
    // In fp16_pure no f32 master exists: what still reads one (norm gains, biases) reads a cast of the narrow
    // one.
    CastInserter inserter(graph);
    for (Node node : inserter.nodes()) {
        for (ValueId& in : node.inputs) {
            if (in == kNone) continue;
            const Value value = graph.value(in);
            if (value.kind != ValueKind::kStored || value.store->region != Region::kMaster ||
                value.type.dtype != DType::f32)
                continue;
            GraphBuilder builder(graph);
            const ValueId stored = builder.stored(value.name + "." + std::string(name_of(narrow)),
                                                  {value.type.shape, narrow}, *value.store);
            in = inserter.as(stored, DType::f32, node);
        }
        inserter.append(std::move(node));
    }
    graph.reorder();
}

}  // namespace mpt
