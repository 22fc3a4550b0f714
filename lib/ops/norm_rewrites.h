// The rewrites that a norm and the residual sums around it share.
#pragma once

#include "graph/op.h"

namespace mpt {

// norm(add(a, b), ...) at `anchor` -> fused(a, b, ...), which gives the sum and then what norm gave; others
// may read the sum, too.
bool norm_takes_add(Graph& graph, NodeId anchor, const KernelTable& kernels, const OpType& norm,
                    const OpType& fused);
// add(backward(...), other) at `anchor` -> fused(..., other)
bool norm_backward_takes_add(Graph& graph, NodeId anchor, const KernelTable& kernels, const OpType& backward,
                             const OpType& fused);

}  // namespace mpt
