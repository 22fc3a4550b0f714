// Checks a graph's invariants after each pass; throws InternalError naming the node.
#pragma once

#include "graph/graph.h"

namespace mpt {

// Later stages hold everything that earlier ones do.
enum class GraphStage : std::uint8_t {
    kBuilt,      // single assignment, order, types as the ops infer them, all f32
    kPrecision,  // no implicit promotion: data inputs of a node share one type; masters, moments and gradient
                 // buffers are f32 (masters f16 in fp16_pure)
    kFused,      // dead nodes gone
};
void verify(const Graph& graph, GraphStage stage);

}  // namespace mpt
