#include "graph/verifier.h"

#include <set>

#include "core/error.h"
#include "graph/op.h"

namespace mpt {

namespace {

void verify_node(const Graph& graph, const Node& node, GraphStage stage) {
    MPT_CHECK(node.op->precision != PrecisionClass::kUnset,
              std::string(node.op->name) + " has no precision class");
    const std::vector<TensorType> inferred = node.op->infer(node.attributes, input_types(graph, node));
    MPT_CHECK(inferred == output_types(graph, node), node.name + ": output types are not what the op infers");
    if (stage == GraphStage::kBuilt) {
        for (const TensorType& type : inferred)
            MPT_CHECK(!is_narrow(type.dtype), node.name + " is narrow before assign_precision");
        return;
    }
    // No implicit promotion: one type among the data inputs (a fixed op states its own rules).
    if (node.op->precision == PrecisionClass::kFixed) return;
    bool seen = false;
    DType common = DType::f32;
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
        if (!is_data_input(graph, node, i)) continue;
        const DType dtype = graph.type(node.inputs[static_cast<std::size_t>(i)]).dtype;
        MPT_CHECK(!seen || dtype == common, node.name + " mixes element types of its data inputs");
        common = dtype;
        seen = true;
    }
}

void verify_store(const Value& value) {
    if (value.kind != ValueKind::kStored) return;
    MPT_CHECK(value.store.has_value(), value.name + " is stored nowhere");
    const Region region = value.store->region;
    const bool wide = region == Region::kGradient || region == Region::kMoment1 ||
                      region == Region::kMoment2 || region == Region::kEma || region == Region::kStatistics ||
                      region == Region::kScaling;
    MPT_CHECK(!wide || value.type.dtype == DType::f32, value.name + " must stay f32");
}

}  // namespace

void verify(const Graph& graph, GraphStage stage) {
    std::set<ValueId> known;
    std::set<ValueId> overwritten;
    std::set<std::string> names;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        verify_store(graph.values[v]);
        if (graph.values[v].kind != ValueKind::kIntermediate) known.insert(static_cast<ValueId>(v));
    }
    for (const Node& node : graph.nodes) {
        MPT_CHECK(node.op != nullptr, "dead node left in graph " + graph.name);
        MPT_CHECK(names.insert(node.name).second, "two nodes are called " + node.name);
        for (const ValueId in : node.inputs) {
            if (in == kNone) continue;
            MPT_CHECK(known.contains(in),
                      node.name + " reads " + graph.value(in).name + " before it is produced");
            MPT_CHECK(!overwritten.contains(in),
                      node.name + " reads " + graph.value(in).name + " after it was overwritten");
        }
        for (const Alias alias : node.op->must_alias)
            if (const ValueId in = node.inputs[static_cast<std::size_t>(alias.input)]; in != kNone)
                overwritten.insert(in);
        for (const ValueId out : node.outputs)
            MPT_CHECK(known.insert(out).second, graph.value(out).name + " is produced twice");
        verify_node(graph, node, stage);
    }
    for (const Graph::Output& output : graph.outputs)
        MPT_CHECK(known.contains(output.value), "output " + output.name + " is never produced");
}

}  // namespace mpt
