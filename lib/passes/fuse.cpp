#include "passes/fuse.h"

#include <algorithm>

#include "core/error.h"
#include "graph/op.h"
#include "passes/simplify.h"

namespace mpt {

namespace {

// A value that a node names twice, as what masks and what is summed with, is read once.
double bytes_named_again(const Graph& graph, const Node& node) {
    double bytes = 0;
    for (auto input = node.inputs.begin(); input != node.inputs.end(); ++input)
        if (*input != kNone && std::find(node.inputs.begin(), input, *input) != input)
            bytes += static_cast<double>(graph.type(*input).bytes());
    return bytes;
}

double bytes_moved(const Graph& graph) {
    double bytes = 0;
    for (const Node& node : graph.nodes)
        if (node.op != nullptr) bytes += cost_of(graph, node).bytes - bytes_named_again(graph, node);
    return bytes;
}

// Returns how often the rewrite applied.
int sweep(Graph& graph, const Rewrite& rewrite, const KernelTable& kernels) {
    int times = 0;
    for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n)
        if (graph.node(n).op != nullptr && rewrite.apply(graph, n, kernels)) ++times;
    if (times > 0) {
        graph.reorder();
        remove_dead_nodes(graph);
    }
    return times;
}

bool apply(Graph& graph, const Rewrite& rewrite, const KernelTable& kernels, FusionReport& report) {
    const int times = sweep(graph, rewrite, kernels);
    if (times == 0) return false;
    const double bytes = bytes_moved(graph);
    auto saving = std::ranges::find(report.savings, rewrite.name, &FusionSaving::rewrite);
    if (saving == report.savings.end())
        saving = report.savings.insert(saving, {std::string(rewrite.name), 0, 0});
    saving->times += times;
    saving->bytes += report.bytes_after - bytes;
    report.bytes_after = bytes;
    return true;
}

}  // namespace

FusionReport fuse(Graph& graph, const KernelTable& kernels) {
    FusionReport report;
    report.bytes_before = report.bytes_after = bytes_moved(graph);
    const std::vector<Rewrite>& rewrites = op_table().rewrites;
    for (std::size_t begin = 0; begin < rewrites.size();) {
        std::size_t end = begin;
        while (end < rewrites.size() && rewrites[end].rank == rewrites[begin].rank) ++end;
        int rounds = 0;
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t r = begin; r < end; ++r)
                changed = apply(graph, rewrites[r], kernels, report) || changed;
            MPT_CHECK(++rounds < 100,
                      "rewrites of rank " + std::to_string(rewrites[begin].rank) + " do not settle");
        }
        begin = end;
    }
    return report;
}

}  // namespace mpt
