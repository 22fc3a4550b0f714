#include "passes/append_update.h"

#include <algorithm>

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
    std::vector<std::vector<std::size_t>> waiting(graph.values.size());  // for each value, in tail
    for (std::size_t t = 0; t < tail.size(); ++t)
        waiting[static_cast<std::size_t>(tail[t].inputs[1])].push_back(t);
    for (std::size_t n = 0; n + gradients.size() < graph.nodes.size(); ++n) {
        ordered.push_back(graph.nodes[n]);
        std::vector<std::size_t> next;
        for (const ValueId out : graph.nodes[n].outputs)
            std::ranges::copy(waiting[static_cast<std::size_t>(out)], std::back_inserter(next));
        std::ranges::sort(next);
        for (const std::size_t t : next) {
            ordered.push_back(tail[t]);
            tail[t].op = nullptr;
        }
    }
    for (const Node& accumulation : tail)
        if (accumulation.op != nullptr) ordered.push_back(accumulation);
    graph.nodes = std::move(ordered);
    graph.reorder();
}

}  // namespace mpt
