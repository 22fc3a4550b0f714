#include "passes/append_update.h"

#include "core/error.h"

namespace mpt {

void append_accumulation(GraphBuilder& builder, const std::vector<ParameterGradient>& gradients) {
    Graph& graph = builder.graph();
    for (const ParameterGradient& pair : gradients) {
        const Value parameter = graph.value(pair.parameter);
        const ValueId buffer =
            builder.stored(parameter.name + ".gradient", {parameter.type.shape, DType::f32},
                           {Region::kGradient, parameter.store->offset});
        op_table().roles.accumulate(builder, buffer, pair.gradient, parameter.name + ".accumulate");
    }
    // Each accumulation belongs right behind its gradient, not at the end, or all gradients would live at
    // once.
    std::vector<Node> ordered;
    std::vector<Node> tail(graph.nodes.end() - static_cast<std::ptrdiff_t>(gradients.size()),
                           graph.nodes.end());
    for (std::size_t n = 0; n + gradients.size() < graph.nodes.size(); ++n) {
        ordered.push_back(graph.nodes[n]);
        for (Node& accumulation : tail)
            for (const ValueId out : graph.nodes[n].outputs)
                if (accumulation.op != nullptr && accumulation.inputs[1] == out) {
                    ordered.push_back(accumulation);
                    accumulation.op = nullptr;
                }
    }
    for (const Node& accumulation : tail)
        if (accumulation.op != nullptr) ordered.push_back(accumulation);
    graph.nodes = std::move(ordered);
    graph.reorder();
}

}  // namespace mpt
