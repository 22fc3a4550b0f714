// Pools as graphs of cuDNN, alone or of what is scaled, shifted and cut off in passing.
#pragma once

#include "backends/cuda/device.h"
#include "backends/cuda/device/cudnn_graph.h"

namespace mpt::gpu {

// Ids of the tensors that a call binds; 0: not in this graph.
struct PoolIds {
    CudnnGraph::Id from = 0, to = 0, index = 0;
    CudnnGraph::Id scale = 0, shift = 0;
};
// Why no call can be bound to the graph of a pool; empty: add it and plan.
std::string refusal_of(const PoolSpec& spec);
PoolIds add_pool(CudnnGraph& graph, const PoolSpec& spec);

}  // namespace mpt::gpu
