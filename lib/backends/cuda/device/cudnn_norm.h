// Batch norms as graphs of cuDNN, forward also with what is added and cut off behind them.
#pragma once

#include "backends/cuda/device.h"
#include "backends/cuda/device/cudnn_graph.h"

namespace mpt::gpu {

// Ids of the tensors that a call binds; 0: not in this graph.
struct NormIds {
    CudnnGraph::Id x = 0, grad_y = 0, addend = 0, gamma = 0, beta = 0;
    CudnnGraph::Id result = 0, mean = 0, rstd = 0, grad_gamma = 0, grad_beta = 0;
};
// Why no call can be bound to the graph; empty: add it and plan.
std::string refusal_of(const NormSpec& spec);
NormIds add_norm(CudnnGraph& graph, const NormSpec& spec);

}  // namespace mpt::gpu
