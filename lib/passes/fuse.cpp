#include "passes/fuse.h"

#include "core/error.h"
#include "graph/op.h"
#include "passes/simplify.h"

namespace mpt {

namespace {

bool sweep(Graph& graph, const Rewrite& rewrite, const KernelTable& kernels) {
    bool changed = false;
    for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n)
        if (graph.node(n).op != nullptr) changed = rewrite.apply(graph, n, kernels) || changed;
    if (changed) {
        graph.reorder();
        remove_dead_nodes(graph);
    }
    return changed;
}

}  // namespace

void fuse(Graph& graph, const KernelTable& kernels) {
    const std::vector<Rewrite>& rewrites = op_table().rewrites;
    for (std::size_t begin = 0; begin < rewrites.size();) {
        std::size_t end = begin;
        while (end < rewrites.size() && rewrites[end].rank == rewrites[begin].rank) ++end;
        int rounds = 0;
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t r = begin; r < end; ++r) changed = sweep(graph, rewrites[r], kernels) || changed;
            MPT_CHECK(++rounds < 100,
                      "rewrites of rank " + std::to_string(rewrites[begin].rank) + " do not settle");
        }
        begin = end;
    }
}

}  // namespace mpt
