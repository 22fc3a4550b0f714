// attention: softmax(q k^T / sqrt(D)) v for each head, without ever storing a [T,S] matrix. Three ops differ
// in how q[B,T,H,D], k[B,S,H,D] and v[B,S,H,D] come; o[B,T,H,D] and logsumexp [B,H,T] are the same:
//   attention:       (q, k, v, lengths? i32 [B], step? i32 []) -> o, logsumexp
//   qkv_attention:   (qkv [B,T,3,H,D], lengths?, step?) -> o, logsumexp
//   cross_attention: (q, kv [B,S,2,H,D], lengths?, step?) -> o, logsumexp
//   <op>_backward:   (grad_o, the data inputs, o, logsumexp, lengths?, step?) -> a gradient of each data
//   input
// Query t of batch b sees the keys before min(lengths[b], S), and with `causal` only those before
// t + S - T + 1: the last query stands at the last key, so that a query may be decoded against older keys.
// Scores, softmax and sums are f32 or wider whatever the type of the data, logsumexp is f32. A query that
// sees no key has zero output, zero gradient and logsumexp 0. Softmax block by block: Milakov & Gimelshein,
// arXiv:1805.02867; its gradient from the saved logsumexp: Dao et al., arXiv:2205.14135.
#pragma once

#include <array>
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

extern const OpType attention_op, attention_backward_op;
extern const OpType qkv_attention_op, qkv_attention_backward_op;
extern const OpType cross_attention_op, cross_attention_backward_op;

struct AttentionOutputs {
    ValueId o, logsumexp;
};

struct AttentionInputs {
    ValueId q, k, v, lengths = kNone, step = kNone;
};
AttentionOutputs attention(GraphBuilder& builder, const AttentionInputs& inputs,
                           AttentionAttributes attributes = {}, const std::string& name = "attention");

struct QkvAttentionInputs {
    ValueId qkv, lengths = kNone, step = kNone;
};
AttentionOutputs qkv_attention(GraphBuilder& builder, const QkvAttentionInputs& inputs,
                               AttentionAttributes attributes = {},
                               const std::string& name = "qkv_attention");

struct CrossAttentionInputs {
    ValueId q, kv, lengths = kNone, step = kNone;
};
AttentionOutputs cross_attention(GraphBuilder& builder, const CrossAttentionInputs& inputs,
                                 AttentionAttributes attributes = {},
                                 const std::string& name = "cross_attention");

// Where an op's q, k and v are: which of its data inputs, and which part of the parts packed into it. Input
// `num_tensors` + 0 and + 1 of the forward op are lengths and step; the backward op has grad_o before the
// data, and o and logsumexp after it.
struct AttentionLayout {
    struct Place {
        int tensor;
        std::int64_t part, parts;
    };
    int num_tensors;
    std::array<Place, 3> places;  // of q, k and v
};
const AttentionLayout& attention_layout(const OpType& op);

// Sizes of a call and which keys a query sees; for the kernels.
struct AttentionExtent {
    std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, size = 0;
    bool causal = false;

    // `data` are the types of the op's data inputs.
    AttentionExtent(const AttentionLayout& layout, std::span<const TensorType> data,
                    const AttentionAttributes& attributes);
    double scale() const;  // 1 / sqrt(D)
    // How many keys query t sees, the first ones; `length` as in lengths, clamped to [0, S].
    std::int64_t num_seen(std::int64_t t, std::int64_t length) const;
    // The place of dropout's number for key 0; `head` is b H + h.
    std::int64_t first_number(std::int64_t head, std::int64_t t) const {
        return (head * queries + t) * ((keys + 63) / 64 * 64);
    }
    // Elements from a row (of one head) of a tensor to the next.
    std::int64_t row(const AttentionLayout::Place& place) const { return place.parts * heads * size; }
    // Where the rows of a head begin in a tensor that holds `count` of them a batch.
    std::int64_t first_row(const AttentionLayout::Place& place, std::int64_t count, std::int64_t b,
                           std::int64_t h) const {
        return b * count * row(place) + (place.part * heads + h) * size;
    }
};

}  // namespace mpt
