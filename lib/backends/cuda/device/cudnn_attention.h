// Attention as a graph of cuDNN's operations, which it compiles into one kernel that stores no scores.
#pragma once

#include "backends/cuda/device.h"
#include "backends/cuda/device/cudnn_graph.h"

namespace mpt::gpu {

// How blocks of keys add to the gradient of q: in f32 and in whatever order they come, or in one order, for
// which cuDNN keeps the gradients of all scores (2 bytes for each query and key of each head).
enum class SumOrder { kAny, kFixed };

// Ids of the tensors that a call binds; 0: not in this graph. `row_sums` and `grad_q_sums` are scratch in f32
// of [batch, heads, queries] and of q's size, the latter zero at the start.
struct AttentionIds {
    CudnnGraph::Id q = 0, k = 0, v = 0, query_lengths = 0, key_lengths = 0, o = 0, logsumexp = 0;
    CudnnGraph::Id grad_o = 0, grad_q = 0, grad_k = 0, grad_v = 0, row_sums = 0, grad_q_sums = 0;
};
AttentionIds add_attention(CudnnGraph& graph, const AttentionSpec& spec, SumOrder order);

}  // namespace mpt::gpu
