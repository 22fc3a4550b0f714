#include "backends/cuda/device/cudnn_attention.h"

#include <cmath>
#include <limits>

#include "backends/cuda/device/cudnn_operations.h"

namespace mpt::gpu {

namespace {

using Id = CudnnGraph::Id;
using Kept = CudnnGraph::Kept;

// Tensors of one attention: [batch, heads, positions, size] in their memory, and scores.
class Tensors {
  public:
    Tensors(CudnnGraph& graph, const AttentionSpec& spec) : graph_(graph), s_(spec) {}

    Id stored(std::int64_t positions, std::int64_t row) {
        return graph_.tensor(s_.dtype, {s_.batch, s_.heads, positions, s_.size},
                             {positions * row, s_.size, row, 1});
    }
    // The same memory with positions and size exchanged.
    Id stored_transposed(std::int64_t positions, std::int64_t row) {
        return graph_.tensor(s_.dtype, {s_.batch, s_.heads, s_.size, positions},
                             {positions * row, s_.size, 1, row});
    }
    Id scores(cudnnDataType_t type) {
        const std::int64_t t = s_.queries, k = s_.keys;
        return graph_.tensor(type, {s_.batch, s_.heads, t, k}, {s_.heads * t * k, t * k, k, 1},
                             Kept::kVirtual);
    }
    Id scores() { return scores(CUDNN_DATA_FLOAT); }
    Id scores_transposed() {
        const std::int64_t t = s_.queries, k = s_.keys;
        return graph_.tensor(s_.dtype, {s_.batch, s_.heads, k, t}, {s_.heads * t * k, t * k, 1, k},
                             Kept::kVirtual);
    }
    Id rows(Kept kept) {
        return graph_.tensor(DType::f32, {s_.batch, s_.heads, s_.queries, 1},
                             {s_.heads * s_.queries, s_.queries, 1, 1}, kept);
    }
    Id sums_of_queries(Kept kept) {
        const std::int64_t whole = s_.queries * s_.size;
        return graph_.tensor(DType::f32, {s_.batch, s_.heads, s_.queries, s_.size},
                             {s_.heads * whole, whole, s_.size, 1}, kept);
    }
    std::int64_t packed_row() const { return s_.heads * s_.size; }

  private:
    CudnnGraph& graph_;
    const AttentionSpec& s_;
};

// Scaled scores, those of unseen keys so low that their weight is 0.
Id masked(CudnnGraph& graph, Tensors& t, const AttentionSpec& s, Id scores, const AttentionIds& ids) {
    const Id least = graph.scalar(std::numeric_limits<float>::lowest());
    const auto keep = [&](Id seen) {
        const Id kept = t.scores();
        add_selection(graph, seen, scores, least, kept);
        scores = kept;
    };
    const auto index = [&](std::int64_t axis) {
        const Id i = t.scores(CUDNN_DATA_INT32);
        add_index(graph, scores, axis, i);
        return i;
    };
    const auto compare = [&](cudnnPointwiseMode_t mode, Id a, Id b) {
        const Id seen = t.scores(CUDNN_DATA_BOOLEAN);
        add_comparison(graph, mode, a, b, seen);
        return seen;
    };
    // The pattern that cuDNN knows asks for lengths of queries, too.
    if (s.lengths) {
        const Id row = index(2), column = index(3);
        const Id row_seen = compare(CUDNN_POINTWISE_CMP_LT, row, ids.query_lengths);
        const Id column_seen = compare(CUDNN_POINTWISE_CMP_LT, column, ids.key_lengths);
        keep(compare(CUDNN_POINTWISE_LOGICAL_AND, row_seen, column_seen));
    }
    if (s.causal) {
        const Id row = index(2), column = index(3);
        keep(compare(CUDNN_POINTWISE_CMP_GE, row, column));
    }
    return scores;
}

Id scaled_scores(CudnnGraph& graph, Tensors& t, const AttentionSpec& s, AttentionIds& ids, Id k_transposed) {
    const Id product = t.scores(), scaled = t.scores();
    add_matmul(graph, ids.q, k_transposed, product);
    const Id scale = graph.scalar(1.0f / std::sqrt(static_cast<float>(s.size)));
    add_pointwise(graph, CUDNN_POINTWISE_MUL, product, scale, scaled);
    if (s.lengths)
        for (Id* lengths : {&ids.query_lengths, &ids.key_lengths})
            *lengths = graph.tensor(DType::i32, {s.batch, 1, 1, 1}, {1, 1, 1, 1});
    return masked(graph, t, s, scaled, ids);
}

AttentionIds add_forward(CudnnGraph& graph, const AttentionSpec& s) {
    Tensors t(graph, s);
    AttentionIds ids;
    ids.q = t.stored(s.queries, s.q_row);
    ids.k = t.stored_transposed(s.keys, s.k_row);
    ids.v = t.stored(s.keys, s.v_row);
    ids.o = t.stored(s.queries, t.packed_row());
    ids.logsumexp = t.rows(Kept::kStored);
    const Id scores = scaled_scores(graph, t, s, ids, ids.k);
    const Id most = t.rows(Kept::kVirtual), sum = t.rows(Kept::kVirtual), log = t.rows(Kept::kVirtual);
    const Id shifted = t.scores(), exponential = t.scores(), weights = t.scores(cudnn_type(s.dtype));
    add_reduction(graph, CUDNN_REDUCE_TENSOR_MAX, scores, most);
    add_pointwise(graph, CUDNN_POINTWISE_SUB, scores, most, shifted);
    add_pointwise(graph, CUDNN_POINTWISE_EXP, shifted, exponential);
    add_reduction(graph, CUDNN_REDUCE_TENSOR_ADD, exponential, sum);
    add_pointwise(graph, CUDNN_POINTWISE_LOG, sum, log);
    add_pointwise(graph, CUDNN_POINTWISE_ADD, most, log, ids.logsumexp);
    add_pointwise(graph, CUDNN_POINTWISE_DIV, exponential, sum, weights);
    add_matmul(graph, weights, ids.v, ids.o);
    return ids;
}

// Dao et al., arXiv:2205.14135, algorithm 4: the weights again from the logsumexp, and from them the
// gradients.
AttentionIds add_backward(CudnnGraph& graph, const AttentionSpec& s, SumOrder order) {
    Tensors t(graph, s);
    AttentionIds ids;
    ids.q = t.stored(s.queries, s.q_row);
    ids.k = t.stored(s.keys, s.k_row);
    ids.v = t.stored_transposed(s.keys, s.v_row);
    ids.o = t.stored(s.queries, t.packed_row());
    ids.grad_o = t.stored(s.queries, t.packed_row());
    ids.logsumexp = t.rows(Kept::kStored);
    ids.grad_q = t.stored(s.queries, s.q_row);
    ids.grad_k = t.stored(s.keys, s.k_row);
    ids.grad_v = t.stored(s.keys, s.v_row);
    ids.row_sums = t.rows(Kept::kStored);
    const Id products = t.sums_of_queries(Kept::kVirtual);
    const Id sums = t.rows(Kept::kVirtual);
    add_pointwise(graph, CUDNN_POINTWISE_MUL, ids.grad_o, ids.o, products);
    add_reduction(graph, CUDNN_REDUCE_TENSOR_ADD, products, sums);
    add_pointwise(graph, CUDNN_POINTWISE_MUL, sums, graph.scalar(1), ids.row_sums);
    const Id k_transposed = graph.alias(ids.k, s.dtype, {s.batch, s.heads, s.size, s.keys},
                                        {s.keys * s.k_row, s.size, 1, s.k_row});
    const Id scores = scaled_scores(graph, t, s, ids, k_transposed);
    const Id shifted = t.scores(), weights = t.scores(cudnn_type(s.dtype)), turned = t.scores_transposed();
    add_pointwise(graph, CUDNN_POINTWISE_SUB, scores, ids.logsumexp, shifted);
    add_pointwise(graph, CUDNN_POINTWISE_EXP, shifted, weights);
    add_reshape(graph, weights, turned);
    add_matmul(graph, turned, ids.grad_o, ids.grad_v);
    const Id of_weights = t.scores(), centred = t.scores(), of_scores = t.scores();
    const Id grad_scores = t.scores(cudnn_type(s.dtype)), grad_turned = t.scores_transposed();
    add_matmul(graph, ids.grad_o, ids.v, of_weights);
    add_pointwise(graph, CUDNN_POINTWISE_SUB, of_weights, ids.row_sums, centred);
    add_pointwise(graph, CUDNN_POINTWISE_MUL, centred, weights, of_scores);
    add_pointwise(graph, CUDNN_POINTWISE_MUL, of_scores,
                  graph.scalar(1.0f / std::sqrt(static_cast<float>(s.size))), grad_scores);
    add_reshape(graph, grad_scores, grad_turned);
    add_matmul(graph, grad_turned, ids.q, ids.grad_k);
    if (order == SumOrder::kFixed) {
        add_matmul(graph, grad_scores, ids.k, ids.grad_q);
        return ids;
    }
    ids.grad_q_sums = t.sums_of_queries(Kept::kStored);
    add_matmul(graph, grad_scores, ids.k, ids.grad_q_sums);
    add_pointwise(graph, CUDNN_POINTWISE_IDENTITY, ids.grad_q_sums, ids.grad_q);
    return ids;
}

}  // namespace

AttentionIds add_attention(CudnnGraph& graph, const AttentionSpec& spec, SumOrder order) {
    return spec.backward ? add_backward(graph, spec, order) : add_forward(graph, spec);
}

}  // namespace mpt::gpu
