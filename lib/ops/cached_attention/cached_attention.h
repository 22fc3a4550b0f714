// cached_attention: (q[B,t,H,D], cache [B,Tmax,2,H,D], lengths i32 [B]) -> o[B,t,H,D] for decoding: attention
// (ops/attention) over keys and values where cache_append has put them, without a copy. Query i of batch b
// sees the keys before lengths[b] - t + i + 1: the last query stands at the last key. One that sees none has
// zero output. The cache may be of another type than q. No gradient.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/builder.h"

namespace mpt {

extern const OpType cached_attention_op;

ValueId cached_attention(GraphBuilder& builder, ValueId q, ValueId cache, ValueId lengths,
                         const std::string& name = "cached_attention");

// Sizes of a call, for the kernels.
struct CachedAttentionExtent {
    std::int64_t batch, queries, capacity, heads, size;

    explicit CachedAttentionExtent(std::span<const TensorType> inputs)
        : batch(inputs[0].shape[0]),
          queries(inputs[0].shape[1]),
          capacity(inputs[1].shape[1]),
          heads(inputs[0].shape[2]),
          size(inputs[0].shape[3]) {}
    std::int64_t num_seen(std::int64_t query, std::int64_t length) const {
        return std::clamp<std::int64_t>(length - queries + query + 1, 0, capacity);
    }
    std::int64_t query_at(std::int64_t b, std::int64_t i, std::int64_t h) const {
        return ((b * queries + i) * heads + h) * size;
    }
    // Of a key; its value is heads * size elements further, the next key twice that.
    std::int64_t key_at(std::int64_t b, std::int64_t key, std::int64_t h) const {
        return ((b * capacity + key) * 2 * heads + h) * size;
    }
};

}  // namespace mpt
