// Common subexpressions (within a phase, so that recomputed values stay recomputed), dead nodes, exact cast
// round trips.
//   before: a = cast(x:f16 -> f32); b = cast(a -> f16); y = f(b)      after: y = f(x)
#pragma once

#include "graph/graph.h"

namespace mpt {

void simplify(Graph& graph);
void remove_dead_nodes(Graph& graph);

}  // namespace mpt
