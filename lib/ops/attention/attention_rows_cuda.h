// What the attention kernels share: rows of heads wherever they are packed, sizes and masks. For *_cuda.cu
// files only.
#pragma once

#include "backends/cuda/rows.h"
#include "ops/attention/attention.h"
#include "ops/dropout/dropout_cuda.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

// Rows of one head of q, k, v or one of their gradients: `row` elements apart, `batch` elements a batch.
template <typename T>
struct AttentionRows {
    T* data;
    std::int64_t row, batch;
    MPT_DEVICE T* at(std::int64_t b, std::int64_t h, std::int64_t size, std::int64_t index) const {
        return data + b * batch + h * size + index * row;
    }
};

struct AttentionCall {
    std::int64_t heads, queries, keys, size;
    const std::int32_t* lengths;
    const std::int32_t* step;
    float scale;
    bool causal;
    DropoutMask dropout;

    MPT_DEVICE std::int64_t num_seen(std::int64_t b, std::int64_t t) const {
        std::int64_t seen = keys;
        if (lengths != nullptr && lengths[b] < seen) seen = lengths[b];
        if (causal && t + keys - queries + 1 < seen) seen = t + keys - queries + 1;
        return seen < 0 ? 0 : seen;
    }
    MPT_DEVICE DropoutCounter counter() const { return dropout.counter(step == nullptr ? 0 : *step); }
    MPT_DEVICE std::int64_t first_number(std::int64_t bh, std::int64_t t) const {
        return (bh * queries + t) * ((keys + 63) / 64 * 64);
    }
};

// A block's place: the blocks of a head follow each other along x, as y ends at 65,535.
struct HeadBlock {
    std::int64_t index, bh, b, h;  // index: among those of its head
    MPT_DEVICE HeadBlock(const AttentionCall& e, std::int64_t per_head) {
        const auto block = static_cast<unsigned>(block_index());
        const unsigned head = block / static_cast<unsigned>(per_head);
        index = block - head * static_cast<unsigned>(per_head);
        bh = head;
        b = head / static_cast<unsigned>(e.heads);
        h = head % static_cast<unsigned>(e.heads);
    }
};

// What the backward kernels read; `along` is grad_o . o of each query, which the first of them writes.
template <typename T>
struct AttentionBackward {
    AttentionRows<const T> q, k, v, grad_o;
    const T* o;
    const float* logsumexp;
    float* along;
};

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
