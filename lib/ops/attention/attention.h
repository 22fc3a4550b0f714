// attention: softmax(q k^T / sqrt(D)) v for each head, without ever storing a [T,S] matrix.
//   attention:          (q[B,T,H,D], k[B,S,H,D], v[B,S,H,D], lengths? i32 [B]) -> o[B,T,H,D], logsumexp
//   [B,H,T] attention_backward: (grad_o, q, k, v, o, logsumexp, lengths?) -> grad_q, grad_k, grad_v
// Query t of batch b sees the keys before min(lengths[b], S), and with `causal` only those before
// t + S - T + 1: the last query stands at the last key, so that a query may be decoded against older keys.
// Scores, softmax and sums are f32 or wider whatever the type of the data, logsumexp is f32. A query that
// sees no key has zero output, zero gradient and logsumexp 0. Softmax block by block: Milakov & Gimelshein,
// arXiv:1805.02867; its gradient from the saved logsumexp: Dao et al., arXiv:2205.14135.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "ops/dropout/dropout.h"

namespace mpt {

struct AttentionAttributes {
    bool causal = false;
    DropoutAttributes dropout = {};
    bool operator==(const AttentionAttributes&) const = default;
};
std::string print(const AttentionAttributes& attributes);

extern const OpType attention_op;
extern const OpType attention_backward_op;

struct AttentionInputs {
    ValueId q, k, v, lengths = kNone, step = kNone;
};
struct AttentionOutputs {
    ValueId o, logsumexp;
};
AttentionOutputs attention(GraphBuilder& builder, const AttentionInputs& inputs,
                           AttentionAttributes attributes = {}, const std::string& name = "attention");

struct AttentionBackwardInputs {
    ValueId grad_o, q, k, v, o, logsumexp, lengths = kNone, step = kNone;
};
struct AttentionGradients {
    ValueId grad_q, grad_k, grad_v;
};
AttentionGradients attention_backward(GraphBuilder& builder, const AttentionBackwardInputs& inputs,
                                      AttentionAttributes attributes = {},
                                      const std::string& name = "attention.backward");

// Sizes of a call and which keys a query sees; for the kernels.
struct AttentionExtent {
    std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, size = 0;
    bool causal = false;

    AttentionExtent(const Shape& q, const Shape& k, const AttentionAttributes& attributes)
        : batch(q[0]), queries(q[1]), keys(k[1]), heads(q[2]), size(q[3]), causal(attributes.causal) {}
    double scale() const;  // 1 / sqrt(D)
    // How many keys query t sees, the first ones; `length` as in lengths, clamped to [0, S].
    std::int64_t num_seen(std::int64_t t, std::int64_t length) const;
    // The place of dropout's number for key 0; `head` is b H + h.
    std::int64_t first_number(std::int64_t head, std::int64_t t) const {
        return (head * queries + t) * ((keys + 63) / 64 * 64);
    }
};

}  // namespace mpt
