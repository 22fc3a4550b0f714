// Applies the rewrites that the ops bring, rank by rank, until nothing changes.
//   before: y = batch_norm(conv2d(x, w)); z = relu(y)     after: c, stats = conv2d_fused(x, w); ...
#pragma once

#include "graph/graph.h"

namespace mpt {

void fuse(Graph& graph);

}  // namespace mpt
