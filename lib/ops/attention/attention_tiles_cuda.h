// Attention tile by tile, without a T x T matrix: 64 queries against 64 keys at a time in shared memory,
// softmax on the way (Milakov & Gimelshein, arXiv:1805.02867), probabilities made again in the backward pass
// (Dao et al., arXiv:2205.14135). Plain f32 multiply-adds, four by four scores a thread. For *_cuda.cu files
// only.
#pragma once

#include "ops/attention/attention_rows_cuda.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kAttentionTile = 64, kAttentionThreads = 256;
inline constexpr int kTileStride = kAttentionTile + 1;  // of transposed tiles: no two lanes in one bank

// The 4 x 4 scores of a thread begin at (down, across); dims of an output are tx, tx + 16, ...
struct TileThread {
    int tx, down, across;
    MPT_DEVICE TileThread()
        : tx(thread_index() % 16), down(thread_index() / 16 * 4), across(thread_index() % 16 * 4) {}
};

constexpr std::size_t natural_floats(int size) {
    return static_cast<std::size_t>(kAttentionTile * size);
}
constexpr std::size_t transposed_floats(int size) {
    return static_cast<std::size_t>(kTileStride * size);
}
constexpr std::size_t score_floats() {
    return static_cast<std::size_t>(kAttentionTile * kTileStride);
}

// Rows [first, first + 64) of a head, as [row][d], and transposed, as [d][row]; zero from `count` on.
template <int size, typename T>
MPT_DEVICE void load_rows(const SharedArray<float>& to, std::int64_t at, const AttentionRows<const T>& rows,
                          std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count) {
    constexpr int kPack = kPerPack<T> < size ? kPerPack<T> : size;
    for (int i = thread_index(); i < kAttentionTile * size / kPack; i += kAttentionThreads) {
        const int row = i / (size / kPack), d = i % (size / kPack) * kPack;
        float v[kPack] = {};
        if (first + row < count) load<kPack>(rows.at(b, h, size, first + row) + d, v);
        for (int k = 0; k < kPack; ++k) to.put(at + row * size + d + k, v[k]);
    }
}
template <int size, typename T>
MPT_DEVICE void load_transposed(const SharedArray<float>& to, std::int64_t at,
                                const AttentionRows<const T>& rows, std::int64_t b, std::int64_t h,
                                std::int64_t first, std::int64_t count) {
    constexpr int kPack = kPerPack<T> < size ? kPerPack<T> : size;
    for (int i = thread_index(); i < kAttentionTile * size / kPack; i += kAttentionThreads) {
        const int row = i % kAttentionTile, d = i / kAttentionTile * kPack;
        float v[kPack] = {};
        if (first + row < count) load<kPack>(rows.at(b, h, size, first + row) + d, v);
        for (int k = 0; k < kPack; ++k) to.put(at + (d + k) * kTileStride + row, v[k]);
    }
}

// scores[i][j] = sum over d of left[down + i][d] right[d][across + j].
template <int size>
MPT_DEVICE void multiply_tiles(const SharedArray<float>& tiles, std::int64_t left, std::int64_t right,
                               const TileThread& t, float (&scores)[4][4]) {
    MPT_UNROLL
    for (int i = 0; i < 4; ++i) {
        MPT_UNROLL
        for (int j = 0; j < 4; ++j) scores[i][j] = 0;
    }
    for (int d = 0; d < size; ++d) {
        float a[4], b[4];
        MPT_UNROLL
        for (int i = 0; i < 4; ++i) a[i] = tiles.get(left + (t.down + i) * size + d);
        MPT_UNROLL
        for (int j = 0; j < 4; ++j) b[j] = tiles.get(right + d * kTileStride + t.across + j);
        MPT_UNROLL
        for (int i = 0; i < 4; ++i) {
            MPT_UNROLL
            for (int j = 0; j < 4; ++j) scores[i][j] += a[i] * b[j];
        }
    }
}

// Shared memory: queries [64][size], keys transposed, values [64][size], probabilities [query][key].
template <int size>
constexpr std::size_t forward_tile_bytes() {
    return (2 * natural_floats(size) + transposed_floats(size) + score_floats()) * sizeof(float);
}

template <int size, typename T>
MPT_KERNEL(kAttentionThreads)
void attention_forward_tiles(AttentionCall e, AttentionRows<const T> q, AttentionRows<const T> k,
                             AttentionRows<const T> v, T* o, float* logsumexp) {
    constexpr int kDims = size / 16;
    constexpr std::int64_t kKeys = natural_floats(size), kValues = kKeys + transposed_floats(size);
    constexpr std::int64_t kWeights = kValues + natural_floats(size);
    MPT_DYNAMIC_SHARED(float, tiles, forward_tile_bytes<size>() / sizeof(float));
    const std::int64_t bh = block_index_y(), b = bh / e.heads, h = bh % e.heads;
    const std::int64_t first = block_index() * kAttentionTile;
    const TileThread t;
    const DropoutCounter counter = e.counter();
    load_rows<size>(tiles, 0, q, b, h, first, e.queries);
    float most[4], total[4], sums[4][kDims] = {};
    std::int64_t seen[4];
    MPT_UNROLL
    for (int i = 0; i < 4; ++i) {
        most[i] = -INFINITY;
        total[i] = 0;
        seen[i] = first + t.down + i < e.queries ? e.num_seen(b, first + t.down + i) : 0;
    }
    const std::int64_t last = first + kAttentionTile < e.queries ? first + kAttentionTile : e.queries;
    const std::int64_t keys = e.num_seen(b, last - 1);  // the last query sees most
    for (std::int64_t key0 = 0; key0 < keys; key0 += kAttentionTile) {
        sync_block();
        load_transposed<size>(tiles, kKeys, k, b, h, key0, e.keys);
        load_rows<size>(tiles, kValues, v, b, h, key0, e.keys);
        sync_block();
        float p[4][4];
        multiply_tiles<size>(tiles, 0, kKeys, t, p);
        MPT_UNROLL
        for (int i = 0; i < 4; ++i) {
            float greatest = -INFINITY;
            MPT_UNROLL
            for (int j = 0; j < 4; ++j) {
                p[i][j] = key0 + t.across + j < seen[i] ? p[i][j] * e.scale : -INFINITY;
                greatest = p[i][j] > greatest || p[i][j] != p[i][j] ? p[i][j] : greatest;
            }
            greatest = greatest_of_lanes<16>(greatest);
            const float now = greatest > most[i] || greatest != greatest ? greatest : most[i];
            const float shrink = now == -INFINITY ? 1.0f : std::exp(most[i] - now);
            most[i] = now;
            total[i] *= shrink;
            MPT_UNROLL
            for (int c = 0; c < kDims; ++c) sums[i][c] *= shrink;
            const std::int64_t number = e.first_number(bh, first + t.down + i) + key0 + t.across;
            MPT_UNROLL
            for (int j = 0; j < 4; ++j) {
                const float weight = now == -INFINITY ? 0.0f : std::exp(p[i][j] - now);
                total[i] += weight;
                tiles.put(kWeights + (t.down + i) * kTileStride + t.across + j,
                          weight * e.dropout.factor(counter, number + j));
            }
        }
        sync_block();
        for (int key = 0; key < kAttentionTile; ++key) {
            float weight[4];
            MPT_UNROLL
            for (int i = 0; i < 4; ++i) weight[i] = tiles.get(kWeights + (t.down + i) * kTileStride + key);
            MPT_UNROLL
            for (int c = 0; c < kDims; ++c) {
                const float value = tiles.get(kValues + key * size + t.tx + 16 * c);
                MPT_UNROLL
                for (int i = 0; i < 4; ++i) sums[i][c] += weight[i] * value;
            }
        }
    }
    MPT_UNROLL
    for (int i = 0; i < 4; ++i) {
        const std::int64_t query = first + t.down + i;
        const float all = sum_lanes<16>(total[i]);
        if (query >= e.queries) continue;
        MPT_UNROLL
        for (int c = 0; c < kDims; ++c)
            o[((b * e.queries + query) * e.heads + h) * size + t.tx + 16 * c] =
                narrow<T>(seen[i] == 0 ? 0.0f : sums[i][c] / all);
        if (t.tx == 0) logsumexp[bh * e.queries + query] = seen[i] == 0 ? 0.0f : most[i] + std::log(all);
    }
}

// Shared memory of both backward kernels: two tiles [64][size], two transposed ones, and two of scores.
template <int size>
constexpr std::size_t backward_tile_bytes() {
    return (2 * natural_floats(size) + 2 * transposed_floats(size) + 2 * score_floats()) * sizeof(float);
}

// What one pair of tiles gives: kept probabilities and gradients of scores, in shared memory as [query][key].
template <int size, typename T>
MPT_DEVICE void score_gradients(const SharedArray<float>& tiles, const AttentionCall& e,
                                const AttentionBackward<T>& in, const TileThread& t, std::int64_t bh,
                                std::int64_t query0, std::int64_t key0, const DropoutCounter& counter) {
    constexpr std::int64_t kGrads = natural_floats(size), kKeys = 2 * natural_floats(size);
    constexpr std::int64_t kValues = kKeys + transposed_floats(size),
                           kKept = kValues + transposed_floats(size);
    constexpr std::int64_t kScores = kKept + score_floats();
    float scores[4][4], grads[4][4];
    multiply_tiles<size>(tiles, 0, kKeys, t, scores);
    multiply_tiles<size>(tiles, kGrads, kValues, t, grads);
    MPT_UNROLL
    for (int i = 0; i < 4; ++i) {
        const std::int64_t query = query0 + t.down + i;
        const bool real = query < e.queries;
        const std::int64_t seen = real ? e.num_seen(bh / e.heads, query) : 0;
        const float shift = real ? in.logsumexp[bh * e.queries + query] : 0.0f;
        const float along = real ? in.along[bh * e.queries + query] : 0.0f;
        MPT_UNROLL
        for (int j = 0; j < 4; ++j) {
            const std::int64_t key = key0 + t.across + j;
            float kept = 0, grad = 0;
            if (key < seen) {
                const float weight = std::exp(e.scale * scores[i][j] - shift);
                const float factor = e.dropout.factor(counter, e.first_number(bh, query) + key);
                kept = factor * weight;
                grad = e.scale * weight * (factor * grads[i][j] - along);
            }
            tiles.put(kKept + (t.down + i) * kTileStride + t.across + j, kept);
            tiles.put(kScores + (t.down + i) * kTileStride + t.across + j, grad);
        }
    }
}

// Loads what score_gradients reads: queries and grad_o as they are, keys and values transposed.
template <int size, typename T>
MPT_DEVICE void load_query_tiles(const SharedArray<float>& tiles, const AttentionCall& e,
                                 const AttentionBackward<T>& in, std::int64_t b, std::int64_t h,
                                 std::int64_t query0) {
    load_rows<size>(tiles, 0, in.q, b, h, query0, e.queries);
    load_rows<size>(tiles, natural_floats(size), in.grad_o, b, h, query0, e.queries);
}
template <int size, typename T>
MPT_DEVICE void load_key_tiles(const SharedArray<float>& tiles, const AttentionCall& e,
                               const AttentionBackward<T>& in, std::int64_t b, std::int64_t h,
                               std::int64_t key0) {
    load_transposed<size>(tiles, 2 * natural_floats(size), in.k, b, h, key0, e.keys);
    load_transposed<size>(tiles, 2 * natural_floats(size) + transposed_floats(size), in.v, b, h, key0,
                          e.keys);
}

template <int size, typename T>
MPT_KERNEL(kAttentionThreads)
void attention_query_tiles(AttentionCall e, AttentionBackward<T> in, AttentionRows<T> grad_q) {
    constexpr int kDims = size / 16;
    constexpr std::int64_t kKeys = 2 * natural_floats(size);
    constexpr std::int64_t kScores = kKeys + 2 * transposed_floats(size) + score_floats();
    MPT_DYNAMIC_SHARED(float, tiles, backward_tile_bytes<size>() / sizeof(float));
    const std::int64_t bh = block_index_y(), b = bh / e.heads, h = bh % e.heads;
    const std::int64_t first = block_index() * kAttentionTile;
    const std::int64_t last = first + kAttentionTile < e.queries ? first + kAttentionTile : e.queries;
    const TileThread t;
    const DropoutCounter counter = e.counter();
    load_query_tiles<size>(tiles, e, in, b, h, first);
    float sums[4][kDims] = {};
    const std::int64_t keys = e.num_seen(b, last - 1);
    for (std::int64_t key0 = 0; key0 < keys; key0 += kAttentionTile) {
        sync_block();
        load_key_tiles<size>(tiles, e, in, b, h, key0);
        sync_block();
        score_gradients<size>(tiles, e, in, t, bh, first, key0, counter);
        sync_block();
        for (int key = 0; key < kAttentionTile; ++key) {
            float grad[4];
            MPT_UNROLL
            for (int i = 0; i < 4; ++i) grad[i] = tiles.get(kScores + (t.down + i) * kTileStride + key);
            MPT_UNROLL
            for (int c = 0; c < kDims; ++c) {
                const float value = tiles.get(kKeys + (t.tx + 16 * c) * kTileStride + key);
                MPT_UNROLL
                for (int i = 0; i < 4; ++i) sums[i][c] += grad[i] * value;
            }
        }
    }
    MPT_UNROLL
    for (int i = 0; i < 4; ++i) {
        const std::int64_t query = first + t.down + i;
        if (query >= e.queries) continue;
        MPT_UNROLL
        for (int c = 0; c < kDims; ++c) grad_q.at(b, h, size, query)[t.tx + 16 * c] = narrow<T>(sums[i][c]);
    }
}

template <int size, typename T>
MPT_KERNEL(kAttentionThreads)
void attention_key_tiles(AttentionCall e, AttentionBackward<T> in, AttentionRows<T> grad_k,
                         AttentionRows<T> grad_v) {
    constexpr int kDims = size / 16;
    constexpr std::int64_t kGrads = natural_floats(size);
    constexpr std::int64_t kKept = 2 * natural_floats(size) + 2 * transposed_floats(size);
    constexpr std::int64_t kScores = kKept + score_floats();
    MPT_DYNAMIC_SHARED(float, tiles, backward_tile_bytes<size>() / sizeof(float));
    const std::int64_t bh = block_index_y(), b = bh / e.heads, h = bh % e.heads;
    const std::int64_t first = block_index() * kAttentionTile;
    const TileThread t;
    const DropoutCounter counter = e.counter();
    load_key_tiles<size>(tiles, e, in, b, h, first);
    float of_key[4][kDims] = {}, of_value[4][kDims] = {};
    for (std::int64_t query0 = 0; query0 < e.queries; query0 += kAttentionTile) {
        const std::int64_t end = query0 + kAttentionTile < e.queries ? query0 + kAttentionTile : e.queries;
        if (e.num_seen(b, end - 1) <= first) continue;  // the last query sees most: the same for all threads
        sync_block();
        load_query_tiles<size>(tiles, e, in, b, h, query0);
        sync_block();
        score_gradients<size>(tiles, e, in, t, bh, query0, first, counter);
        sync_block();
        for (int query = 0; query < kAttentionTile; ++query) {
            float kept[4], grad[4];
            MPT_UNROLL
            for (int i = 0; i < 4; ++i) {
                kept[i] = tiles.get(kKept + query * kTileStride + t.down + i);
                grad[i] = tiles.get(kScores + query * kTileStride + t.down + i);
            }
            MPT_UNROLL
            for (int c = 0; c < kDims; ++c) {
                const float q = tiles.get(query * size + t.tx + 16 * c);
                const float g = tiles.get(kGrads + query * size + t.tx + 16 * c);
                MPT_UNROLL
                for (int i = 0; i < 4; ++i) {
                    of_key[i][c] += grad[i] * q;
                    of_value[i][c] += kept[i] * g;
                }
            }
        }
    }
    MPT_UNROLL
    for (int i = 0; i < 4; ++i) {
        const std::int64_t key = first + t.down + i;
        if (key >= e.keys) continue;
        MPT_UNROLL
        for (int c = 0; c < kDims; ++c) {
            grad_k.at(b, h, size, key)[t.tx + 16 * c] = narrow<T>(of_key[i][c]);
            grad_v.at(b, h, size, key)[t.tx + 16 * c] = narrow<T>(of_value[i][c]);
        }
    }
}

// grad_o . o of each query, a warp each.
template <typename T>
MPT_KERNEL(kRowThreads)
void attention_along_kernel(AttentionCall e, std::int64_t rows, AttentionBackward<T> in) {
    const RowGroup<kLanes> group;
    if (group.row >= rows) return;
    const std::int64_t bh = group.row / e.queries, t = group.row % e.queries, b = bh / e.heads,
                       h = bh % e.heads;
    const T* grad = in.grad_o.at(b, h, e.size, t);
    const T* out = in.o + ((b * e.queries + t) * e.heads + h) * e.size;
    float sum = 0;
    for (std::int64_t d = group.lane; d < e.size; d += kLanes) sum += widen(grad[d]) * widen(out[d]);
    sum = group.sum(sum);
    if (group.lane == 0) in.along[group.row] = sum;
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
