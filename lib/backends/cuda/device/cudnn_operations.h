// The operations that fusions and attention are made of; each adds one to a graph. Tensors are ids of the
// graph, arithmetic is f32.
#pragma once

#include "backends/cuda/device/cudnn_graph.h"

namespace mpt::gpu {

// y = mode(x) or mode(x, b); where b has ones for dimensions it is repeated.
void add_pointwise(CudnnGraph& graph, cudnnPointwiseMode_t mode, CudnnGraph::Id x, CudnnGraph::Id y);
void add_pointwise(CudnnGraph& graph, cudnnPointwiseMode_t mode, CudnnGraph::Id x, CudnnGraph::Id b,
                   CudnnGraph::Id y);
// y = max(0, x), of NaN NaN: values that overflowed must not look like none.
void add_relu(CudnnGraph& graph, CudnnGraph::Id x, CudnnGraph::Id y);
// dx = dy where x > 0, else 0
void add_relu_backward(CudnnGraph& graph, CudnnGraph::Id dy, CudnnGraph::Id x, CudnnGraph::Id dx);
// y[i] = i's index along `axis`, i32; x only gives the shape
void add_index(CudnnGraph& graph, CudnnGraph::Id x, std::int64_t axis, CudnnGraph::Id y);
// y = a <mode> b as booleans
void add_comparison(CudnnGraph& graph, cudnnPointwiseMode_t mode, CudnnGraph::Id a, CudnnGraph::Id b,
                    CudnnGraph::Id y);
// y = condition ? a : b
void add_selection(CudnnGraph& graph, CudnnGraph::Id condition, CudnnGraph::Id a, CudnnGraph::Id b,
                   CudnnGraph::Id y);
// Over the dimensions in which y has 1 and x has not.
void add_reduction(CudnnGraph& graph, cudnnReduceTensorOp_t how, CudnnGraph::Id x, CudnnGraph::Id y);
void add_matmul(CudnnGraph& graph, CudnnGraph::Id a, CudnnGraph::Id b, CudnnGraph::Id c);
void add_reshape(CudnnGraph& graph, CudnnGraph::Id x, CudnnGraph::Id y);
// Sum and sum of squares a channel.
void add_statistics(CudnnGraph& graph, CudnnGraph::Id x, CudnnGraph::Id sum, CudnnGraph::Id square_sum);
// The gradients of batch norm's weights, and with them what its own gradient is made of: grad_x = dy_scale *
// dy + x_scale * x + shift. Vectors of channels.
struct NormWeightsIds {
    CudnnGraph::Id x, dy, mean, rstd, gamma;
    CudnnGraph::Id grad_gamma, grad_beta, dy_scale, x_scale, shift;
};
void add_norm_weights_backward(CudnnGraph& graph, const NormWeightsIds& ids);

// Batch norm by the statistics of x, which are written; vectors of channels.
struct NormForwardIds {
    CudnnGraph::Id x, gamma, beta, y, mean, rstd;
};
void add_norm_forward(CudnnGraph& graph, const NormForwardIds& ids, double epsilon);
// All gradients of a batch norm.
struct NormBackwardIds {
    CudnnGraph::Id x, dy, gamma, mean, rstd, dx, grad_gamma, grad_beta;
};
void add_norm_backward(CudnnGraph& graph, const NormBackwardIds& ids);

}  // namespace mpt::gpu
