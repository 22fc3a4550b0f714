#include "passes/differentiate.h"

#include <algorithm>

#include "core/error.h"

namespace mpt {

namespace {

bool is_parameter(const Value& value) {
    return value.kind == ValueKind::kStored && value.store->region == Region::kMaster;
}

// Which values depend on a parameter: only their gradients are wanted.
std::vector<bool> depends_on_parameters(const Graph& graph) {
    std::vector<bool> depends(graph.values.size());
    for (std::size_t v = 0; v < graph.values.size(); ++v) depends[v] = is_parameter(graph.values[v]);
    for (const Node& node : graph.nodes) {
        const bool any = std::ranges::any_of(
            node.inputs, [&](ValueId in) { return in != kNone && depends[static_cast<std::size_t>(in)]; });
        for (const ValueId out : node.outputs) depends[static_cast<std::size_t>(out)] = any;
    }
    return depends;
}

}  // namespace

std::vector<ParameterGradient> differentiate(GraphBuilder& builder, ValueId loss, ValueId seed) {
    Graph& graph = builder.graph();
    const std::vector<bool> depends = depends_on_parameters(graph);
    std::vector<ValueId> gradients(graph.values.size(), kNone);
    gradients[static_cast<std::size_t>(loss)] = seed;

    builder.set_phase(Phase::kBackward);
    for (NodeId n = static_cast<NodeId>(graph.nodes.size()) - 1; n >= 0; --n) {
        const Node node = graph.node(n);  // a copy: the rule appends nodes
        std::vector<ValueId> of_outputs;
        bool any = false;
        for (const ValueId out : node.outputs) {
            of_outputs.push_back(gradients[static_cast<std::size_t>(out)]);
            any = any || of_outputs.back() != kNone;
        }
        if (!any || node.op->differentiate == nullptr) continue;

        builder.set_block(node.block);
        GradientContext context(builder, node, of_outputs);
        for (const ValueId in : node.inputs)
            context.wanted.push_back(in != kNone && depends[static_cast<std::size_t>(in)]);
        {
            const GraphBuilder::Scope scope(builder, node.name);  // of the names of gradient nodes
            node.op->differentiate(context);
        }
        for (const auto& [index, gradient] : context.results) {
            const ValueId in = node.inputs[static_cast<std::size_t>(index)];
            if (in == kNone || !depends[static_cast<std::size_t>(in)]) continue;
            MPT_CHECK(graph.type(gradient).shape == graph.type(in).shape,
                      "gradient of " + graph.value(in).name + " has another shape");
            ValueId& total = gradients[static_cast<std::size_t>(in)];
            total = total == kNone ? gradient
                                   : op_table().roles.sum(builder, total, gradient,
                                                          graph.value(in).name + ".gradient_sum");
        }
    }
    builder.set_block(kNone);

    std::vector<ParameterGradient> result;
    for (std::size_t v = 0; v < gradients.size(); ++v)
        if (gradients[v] != kNone && is_parameter(graph.values[v]))
            result.push_back({static_cast<ValueId>(v), gradients[v]});
    return result;
}

}  // namespace mpt
