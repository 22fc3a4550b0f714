// Activation checkpointing by block: what a block computes for its own backward is computed again there.
//   before: a = f(x); b = g(a); ... f.backward(a)     after: a = f(x); b = g(a); ... a' = f(x);
//   f.backward(a')
// Kept are the values that another block reads. Updates of stored values are never repeated.
#pragma once

#include "graph/graph.h"

namespace mpt {

void recompute_blocks(Graph& graph);

}  // namespace mpt
