// Applies the rewrites that the ops bring, rank by rank, until nothing changes.
//   before: y = batch_norm(conv2d(x, w)); z = relu(y)     after: c, stats = conv2d_fused(x, w); ...
#pragma once

#include "graph/graph.h"
#include "graph/kernel.h"

namespace mpt {

// `kernels` are the backend's: a fused convolution is made only where a fast one runs it.
void fuse(Graph& graph, const KernelTable& kernels);

}  // namespace mpt
