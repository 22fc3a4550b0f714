// Convolutions as graphs of cuDNN, alone or with what is fused into them.
#pragma once

#include "backends/cuda/device.h"
#include "backends/cuda/device/cudnn_graph.h"

namespace mpt::gpu {

// Ids of the tensors that a call binds; 0: not in this graph. `zeros`, `ones` and `scratch` are vectors of
// channels in f32: cuDNN knows sums over a gradient only as gradients of a batch norm, which is given mean 0
// and deviation 1.
struct ConvolutionIds {
    CudnnGraph::Id first = 0, second = 0, result = 0;
    CudnnGraph::Id scale = 0, shift = 0, addend = 0, masked = 0;
    CudnnGraph::Id sum = 0, sum_of_products = 0;  // statistics: of squares
    CudnnGraph::Id references[2] = {}, sums_of_products[2] = {};
    CudnnGraph::Id zeros = 0, ones = 0;
    CudnnGraph::Id scratch[3] = {};
};
// Why no call can be bound to the graph of a convolution; empty: add it and plan.
std::string refusal_of(const ConvolutionSpec& spec);
// A scale and shift that kernels take in the type of the data.
ConvolutionIds add_convolution(CudnnGraph& graph, const ConvolutionSpec& spec);

}  // namespace mpt::gpu
