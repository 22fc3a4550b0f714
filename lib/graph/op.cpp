#include "graph/op.h"

#include <algorithm>

#include "core/error.h"

namespace mpt {

const char* name_of(PrecisionClass precision) {
    switch (precision) {
        case PrecisionClass::kUnset:
            return "unset";
        case PrecisionClass::kNarrow:
            return "narrow";
        case PrecisionClass::kFollow:
            return "follow";
        case PrecisionClass::kWide:
            return "wide";
        case PrecisionClass::kFixed:
            return "fixed";
    }
    return "?";
}

bool is_data_input(const Graph& graph, const Node& node, int index) {
    const ValueId id = node.inputs[static_cast<std::size_t>(index)];
    if (id == kNone || !is_float(graph.type(id).dtype)) return false;
    return node.op->is_data_input == nullptr || node.op->is_data_input(node.attributes, index);
}

std::vector<TensorType> input_types(const Graph& graph, const Node& node) {
    std::vector<TensorType> types;
    types.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) types.push_back(id == kNone ? TensorType{} : graph.type(id));
    return types;
}

std::vector<TensorType> output_types(const Graph& graph, const Node& node) {
    std::vector<TensorType> types;
    types.reserve(node.outputs.size());
    for (const ValueId id : node.outputs) types.push_back(graph.type(id));
    return types;
}

Cost cost_of(const Graph& graph, const Node& node) {
    const std::vector<TensorType> inputs = input_types(graph, node);
    const std::vector<TensorType> outputs = output_types(graph, node);
    if (node.op->cost != nullptr) return node.op->cost(node.attributes, inputs, outputs);
    Cost cost;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (node.inputs[i] != kNone) cost.bytes += static_cast<double>(inputs[i].bytes());
    for (const TensorType& type : outputs) {
        cost.bytes += static_cast<double>(type.bytes());
        cost.flops += static_cast<double>(type.shape.num_elements());
    }
    return cost;
}

}  // namespace mpt
