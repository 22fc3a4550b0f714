// Attention tile by tile, without a T x T matrix: up to 64 queries against up to 64 keys at a time in shared
// memory, softmax on the way (Milakov & Gimelshein, arXiv:1805.02867), probabilities made again in the
// backward pass (Dao et al., arXiv:2205.14135). Plain f32 multiply-adds, up to four by four scores a thread.
// For *_cuda.cu files only.
#pragma once

#include "ops/attention/attention_rows_cuda.h"
#include "ops/attention/attention_tile_shape.h"

// So that no kernel spills: a product's sum is unrolled no further than by 4, and kernels with the most sums
// may take all registers, one block a multiprocessor, where ptxas would rather spill than not have two.
#ifdef MPT_HOST_TWIN
#define MPT_UNROLL_BY_4
#define MPT_KERNEL_ALL_REGISTERS(max_threads)
#else
#define MPT_UNROLL_BY_4 _Pragma("unroll 4")
#define MPT_KERNEL_ALL_REGISTERS(max_threads) __global__ __launch_bounds__(max_threads, 1)
#endif

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kTileLanes = 16, kAttentionThreads = kTileLanes * kTileLanes;

// A tile of queries x keys and what it takes of shared memory, in floats (attention_tile_bytes).
template <int size, int queries, int keys>
struct Tile {
    static constexpr int kSize = size, kQueries = queries, kKeys = keys, kStride = keys + 1;
    static constexpr int kDown = queries / kTileLanes, kAcross = keys / kTileLanes;  // scores of a thread
    static constexpr int kDims = size / kTileLanes;                                  // of its rows of outputs
    static constexpr std::int64_t kOfQueries = queries * size, kOfKeys = keys * size,
                                  kTransposed = kStride * size;
    static constexpr std::size_t bytes(AttentionPass pass) {
        return attention_tile_bytes(pass, size, {queries, keys});
    }
};

// The scores of a thread begin at (down, across); dims of an output are x, x + 16, ...
template <typename Tile>
struct TileThread {
    int x, y, down, across;
    MPT_DEVICE TileThread()
        : x(thread_index() % kTileLanes),
          y(thread_index() / kTileLanes),
          down(y * Tile::kDown),
          across(x * Tile::kAcross) {}
};

// `rows` rows of a head from `first` on, as [row][d], and transposed, as [d][row]; zero from `count` on.
template <int size, int rows, typename T>
MPT_DEVICE void load_rows(const SharedArray<float>& to, std::int64_t at, const AttentionRows<const T>& from,
                          const HeadBlock& head, std::int64_t first, std::int64_t count) {
    constexpr int kPack = kPerPack<T> < size ? kPerPack<T> : size;
    for (int i = thread_index(); i < rows * size / kPack; i += kAttentionThreads) {
        const int row = i / (size / kPack), d = i % (size / kPack) * kPack;
        float v[kPack] = {};
        if (first + row < count) load<kPack>(from.at(head.b, head.h, size, first + row) + d, v);
        for (int k = 0; k < kPack; ++k) to.put(at + row * size + d + k, v[k]);
    }
}
template <int size, int rows, typename T>
MPT_DEVICE void load_transposed(const SharedArray<float>& to, std::int64_t at,
                                const AttentionRows<const T>& from, const HeadBlock& head, std::int64_t first,
                                std::int64_t count) {
    constexpr int kPack = kPerPack<T> < size ? kPerPack<T> : size;
    for (int i = thread_index(); i < rows * size / kPack; i += kAttentionThreads) {
        const int row = i % rows, d = i / rows * kPack;
        float v[kPack] = {};
        if (first + row < count) load<kPack>(from.at(head.b, head.h, size, first + row) + d, v);
        for (int k = 0; k < kPack; ++k) to.put(at + (d + k) * (rows + 1) + row, v[k]);
    }
}

// scores[i][j] = sum over d of left[down + i][d] right[d][across + j].
template <typename Tile>
MPT_DEVICE void multiply_tiles(const SharedArray<float>& tiles, std::int64_t left, std::int64_t right,
                               const TileThread<Tile>& t, float (&scores)[Tile::kDown][Tile::kAcross]) {
    MPT_UNROLL
    for (int i = 0; i < Tile::kDown; ++i) {
        MPT_UNROLL
        for (int j = 0; j < Tile::kAcross; ++j) scores[i][j] = 0;
    }
    MPT_UNROLL_BY_4
    for (int d = 0; d < Tile::kSize; ++d) {
        float a[Tile::kDown], b[Tile::kAcross];
        MPT_UNROLL
        for (int i = 0; i < Tile::kDown; ++i) a[i] = tiles.get(left + (t.down + i) * Tile::kSize + d);
        MPT_UNROLL
        for (int j = 0; j < Tile::kAcross; ++j) b[j] = tiles.get(right + d * Tile::kStride + t.across + j);
        MPT_UNROLL
        for (int i = 0; i < Tile::kDown; ++i) {
            MPT_UNROLL
            for (int j = 0; j < Tile::kAcross; ++j) scores[i][j] += a[i] * b[j];
        }
    }
}
// The thread's scores, to where all of the block read them as [query][key].
template <typename Tile>
MPT_DEVICE void put_scores(const SharedArray<float>& tiles, std::int64_t at, const TileThread<Tile>& t,
                           const float (&scores)[Tile::kDown][Tile::kAcross]) {
    MPT_UNROLL
    for (int i = 0; i < Tile::kDown; ++i) {
        MPT_UNROLL
        for (int j = 0; j < Tile::kAcross; ++j)
            tiles.put(at + (t.down + i) * Tile::kStride + t.across + j, scores[i][j]);
    }
}

// sums[i][c] += over the keys: score of the thread's query i, times element (key, x + 16 c) of values that
// are `of_key` and `of_dim` apart.
template <typename Tile>
MPT_DEVICE void add_to_rows(const SharedArray<float>& tiles, std::int64_t scores, std::int64_t values,
                            int of_key, int of_dim, const TileThread<Tile>& t,
                            float (&sums)[Tile::kDown][Tile::kDims]) {
    for (int key = 0; key < Tile::kKeys; ++key) {
        float score[Tile::kDown];
        MPT_UNROLL
        for (int i = 0; i < Tile::kDown; ++i)
            score[i] = tiles.get(scores + (t.down + i) * Tile::kStride + key);
        MPT_UNROLL
        for (int c = 0; c < Tile::kDims; ++c) {
            const float value = tiles.get(values + key * of_key + (t.x + kTileLanes * c) * of_dim);
            MPT_UNROLL
            for (int i = 0; i < Tile::kDown; ++i) sums[i][c] += score[i] * value;
        }
    }
}

// Of a thread's rows: the greatest score so far, the sum of weights, and the weighted sums of values.
template <typename Tile>
struct RunningSoftmax {
    float most[Tile::kDown], total[Tile::kDown], sums[Tile::kDown][Tile::kDims];
    std::int64_t seen[Tile::kDown];

    MPT_DEVICE RunningSoftmax(const AttentionCall& e, std::int64_t b, std::int64_t query) {
        MPT_UNROLL
        for (int i = 0; i < Tile::kDown; ++i) {
            most[i] = -INFINITY;
            total[i] = 0;
            seen[i] = query + i < e.queries ? e.num_seen(b, query + i) : 0;
            MPT_UNROLL
            for (int c = 0; c < Tile::kDims; ++c) sums[i][c] = 0;
        }
    }
    // Scores of row i, at keys from `key` on, to weights that are kept; `number` is that of the first.
    MPT_DEVICE void take(int i, float (&p)[Tile::kAcross], const AttentionCall& e,
                         const DropoutCounter& counter, std::int64_t key, std::int64_t number) {
        float greatest = -INFINITY;
        MPT_UNROLL
        for (int j = 0; j < Tile::kAcross; ++j) {
            p[j] = key + j < seen[i] ? p[j] * e.scale : -INFINITY;
            greatest = p[j] > greatest || p[j] != p[j] ? p[j] : greatest;
        }
        greatest = greatest_of_lanes<kTileLanes>(greatest);
        const float now = greatest > most[i] || greatest != greatest ? greatest : most[i];
        const float shrink = now == -INFINITY ? 1.0f : std::exp(most[i] - now);
        most[i] = now;
        total[i] *= shrink;
        MPT_UNROLL
        for (int c = 0; c < Tile::kDims; ++c) sums[i][c] *= shrink;
        MPT_UNROLL
        for (int j = 0; j < Tile::kAcross; ++j) {
            const float weight = now == -INFINITY ? 0.0f : std::exp(p[j] - now);
            total[i] += weight;
            p[j] = weight * e.dropout.factor(counter, number + j);
        }
    }
};

template <typename Tile, typename T>
MPT_KERNEL(kAttentionThreads)
void attention_forward_tiles(AttentionCall e, AttentionRows<const T> q, AttentionRows<const T> k,
                             AttentionRows<const T> v, T* o, float* logsumexp) {
    constexpr int size = Tile::kSize, kDown = Tile::kDown, kDims = Tile::kDims;
    constexpr std::int64_t kValues = Tile::kOfQueries, kKeys = kValues + Tile::kOfKeys;
    constexpr std::int64_t kWeights = kKeys;  // where the keys were
    MPT_DYNAMIC_SHARED(float, tiles, Tile::bytes(AttentionPass::kForward) / sizeof(float));
    const HeadBlock head(e, blocks_for(e.queries, Tile::kQueries));
    const std::int64_t first = head.index * Tile::kQueries;
    const TileThread<Tile> t;
    const DropoutCounter counter = e.counter();
    load_rows<size, Tile::kQueries>(tiles, 0, q, head, first, e.queries);
    RunningSoftmax<Tile> softmax(e, head.b, first + t.down);
    const std::int64_t last = first + Tile::kQueries < e.queries ? first + Tile::kQueries : e.queries;
    const std::int64_t keys = e.num_seen(head.b, last - 1);  // the last query sees most
    for (std::int64_t key0 = 0; key0 < keys; key0 += Tile::kKeys) {
        sync_block();
        load_transposed<size, Tile::kKeys>(tiles, kKeys, k, head, key0, e.keys);
        load_rows<size, Tile::kKeys>(tiles, kValues, v, head, key0, e.keys);
        sync_block();
        float p[kDown][Tile::kAcross];
        multiply_tiles<Tile>(tiles, 0, kKeys, t, p);
        const std::int64_t key = key0 + t.across;
        MPT_UNROLL
        for (int i = 0; i < kDown; ++i)
            softmax.take(i, p[i], e, counter, key, e.first_number(head.bh, first + t.down + i) + key);
        sync_block();  // all have read the keys
        put_scores<Tile>(tiles, kWeights, t, p);
        sync_block();
        add_to_rows<Tile>(tiles, kWeights, kValues, size, 1, t, softmax.sums);
    }
    MPT_UNROLL
    for (int i = 0; i < kDown; ++i) {
        const std::int64_t query = first + t.down + i;
        const float all = sum_lanes<kTileLanes>(softmax.total[i]);
        if (query >= e.queries) continue;
        const bool none = softmax.seen[i] == 0;
        MPT_UNROLL
        for (int c = 0; c < kDims; ++c)
            o[((head.b * e.queries + query) * e.heads + head.h) * size + t.x + kTileLanes * c] =
                narrow<T>(none ? 0.0f : softmax.sums[i][c] / all);
        if (t.x == 0) logsumexp[head.bh * e.queries + query] = none ? 0.0f : softmax.most[i] + std::log(all);
    }
}

// Where the backward kernels keep queries, gradients of outputs, keys, values and scores.
template <typename Tile>
struct BackwardPlaces {
    static constexpr std::int64_t kGrads = Tile::kOfQueries, kKeys = 2 * kGrads;
    static constexpr std::int64_t kValues = kKeys + Tile::kTransposed, kScores = kValues + Tile::kTransposed;
};

// What one pair of tiles gives: kept probabilities and gradients of scores, those of a thread.
template <typename Tile>
struct TileGradients {
    float kept[Tile::kDown][Tile::kAcross], scores[Tile::kDown][Tile::kAcross];
};
template <typename Tile, typename T>
MPT_DEVICE void make_gradients(const SharedArray<float>& tiles, const AttentionCall& e,
                               const AttentionBackward<T>& in, const TileThread<Tile>& t,
                               const HeadBlock& head, std::int64_t query0, std::int64_t key0,
                               const DropoutCounter& counter, TileGradients<Tile>& made) {
    using At = BackwardPlaces<Tile>;
    multiply_tiles<Tile>(tiles, 0, At::kKeys, t, made.kept);
    multiply_tiles<Tile>(tiles, At::kGrads, At::kValues, t, made.scores);
    MPT_UNROLL
    for (int i = 0; i < Tile::kDown; ++i) {
        const std::int64_t query = query0 + t.down + i;
        const bool real = query < e.queries;
        const std::int64_t seen = real ? e.num_seen(head.b, query) : 0;
        const float shift = real ? in.logsumexp[head.bh * e.queries + query] : 0.0f;
        const float along = real ? in.along[head.bh * e.queries + query] : 0.0f;
        MPT_UNROLL
        for (int j = 0; j < Tile::kAcross; ++j) {
            const std::int64_t key = key0 + t.across + j;
            float kept = 0, grad = 0;
            if (key < seen) {
                const float weight = std::exp(e.scale * made.kept[i][j] - shift);
                const float factor = e.dropout.factor(counter, e.first_number(head.bh, query) + key);
                kept = factor * weight;
                grad = e.scale * weight * (factor * made.scores[i][j] - along);
            }
            made.kept[i][j] = kept;
            made.scores[i][j] = grad;
        }
    }
}

// Loads what make_gradients reads.
template <typename Tile, typename T>
MPT_DEVICE void load_query_tiles(const SharedArray<float>& tiles, const AttentionCall& e,
                                 const AttentionBackward<T>& in, const HeadBlock& head, std::int64_t query0) {
    load_rows<Tile::kSize, Tile::kQueries>(tiles, 0, in.q, head, query0, e.queries);
    load_rows<Tile::kSize, Tile::kQueries>(tiles, BackwardPlaces<Tile>::kGrads, in.grad_o, head, query0,
                                           e.queries);
}
template <typename Tile, typename T>
MPT_DEVICE void load_key_tiles(const SharedArray<float>& tiles, const AttentionCall& e,
                               const AttentionBackward<T>& in, const HeadBlock& head, std::int64_t key0) {
    using At = BackwardPlaces<Tile>;
    load_transposed<Tile::kSize, Tile::kKeys>(tiles, At::kKeys, in.k, head, key0, e.keys);
    load_transposed<Tile::kSize, Tile::kKeys>(tiles, At::kValues, in.v, head, key0, e.keys);
}

template <typename Tile, typename T>
MPT_KERNEL(kAttentionThreads)
void attention_query_tiles(AttentionCall e, AttentionBackward<T> in, AttentionRows<T> grad_q) {
    using At = BackwardPlaces<Tile>;
    constexpr int size = Tile::kSize, kDown = Tile::kDown, kDims = Tile::kDims;
    MPT_DYNAMIC_SHARED(float, tiles, Tile::bytes(AttentionPass::kBackward) / sizeof(float));
    const HeadBlock head(e, blocks_for(e.queries, Tile::kQueries));
    const std::int64_t first = head.index * Tile::kQueries;
    const std::int64_t last = first + Tile::kQueries < e.queries ? first + Tile::kQueries : e.queries;
    const TileThread<Tile> t;
    const DropoutCounter counter = e.counter();
    load_query_tiles<Tile>(tiles, e, in, head, first);
    float sums[kDown][kDims] = {};
    const std::int64_t keys = e.num_seen(head.b, last - 1);
    for (std::int64_t key0 = 0; key0 < keys; key0 += Tile::kKeys) {
        sync_block();
        load_key_tiles<Tile>(tiles, e, in, head, key0);
        sync_block();
        TileGradients<Tile> made;
        make_gradients<Tile>(tiles, e, in, t, head, first, key0, counter, made);
        put_scores<Tile>(tiles, At::kScores, t, made.scores);
        sync_block();
        add_to_rows<Tile>(tiles, At::kScores, At::kKeys, 1, Tile::kStride, t, sums);
    }
    MPT_UNROLL
    for (int i = 0; i < kDown; ++i) {
        const std::int64_t query = first + t.down + i;
        if (query >= e.queries) continue;
        MPT_UNROLL
        for (int c = 0; c < kDims; ++c)
            grad_q.at(head.b, head.h, size, query)[t.x + kTileLanes * c] = narrow<T>(sums[i][c]);
    }
}

// sums[i] += the scores' column of the thread's key i, times the queries or gradients of outputs at `rows`.
template <typename Tile>
MPT_DEVICE void add_of_keys(const SharedArray<float>& tiles, std::int64_t rows, const TileThread<Tile>& t,
                            float (&sums)[Tile::kAcross][Tile::kDims]) {
    for (int query = 0; query < Tile::kQueries; ++query) {
        float score[Tile::kAcross];
        MPT_UNROLL
        for (int i = 0; i < Tile::kAcross; ++i)
            score[i] =
                tiles.get(BackwardPlaces<Tile>::kScores + query * Tile::kStride + t.y * Tile::kAcross + i);
        MPT_UNROLL
        for (int c = 0; c < Tile::kDims; ++c) {
            const float value = tiles.get(rows + query * Tile::kSize + t.x + kTileLanes * c);
            MPT_UNROLL
            for (int i = 0; i < Tile::kAcross; ++i) sums[i][c] += score[i] * value;
        }
    }
}

template <typename Tile, typename T>
MPT_KERNEL_ALL_REGISTERS(kAttentionThreads)
void attention_key_tiles(AttentionCall e, AttentionBackward<T> in, AttentionRows<T> grad_k,
                         AttentionRows<T> grad_v) {
    using At = BackwardPlaces<Tile>;
    constexpr int size = Tile::kSize, kKeys = Tile::kAcross, kDims = Tile::kDims;
    MPT_DYNAMIC_SHARED(float, tiles, Tile::bytes(AttentionPass::kBackward) / sizeof(float));
    const HeadBlock head(e, blocks_for(e.keys, Tile::kKeys));
    const std::int64_t first = head.index * Tile::kKeys;
    const TileThread<Tile> t;
    const DropoutCounter counter = e.counter();
    load_key_tiles<Tile>(tiles, e, in, head, first);
    float of_key[kKeys][kDims] = {}, of_value[kKeys][kDims] = {};
    for (std::int64_t query0 = 0; query0 < e.queries; query0 += Tile::kQueries) {
        const std::int64_t end = query0 + Tile::kQueries < e.queries ? query0 + Tile::kQueries : e.queries;
        // The last query sees most: the same for all threads.
        if (e.num_seen(head.b, end - 1) <= first) continue;
        sync_block();
        load_query_tiles<Tile>(tiles, e, in, head, query0);
        sync_block();
        TileGradients<Tile> made;
        make_gradients<Tile>(tiles, e, in, t, head, query0, first, counter, made);
        // One place for both, one after the other: half the memory.
        put_scores<Tile>(tiles, At::kScores, t, made.kept);
        sync_block();
        add_of_keys<Tile>(tiles, At::kGrads, t, of_value);
        sync_block();
        put_scores<Tile>(tiles, At::kScores, t, made.scores);
        sync_block();
        add_of_keys<Tile>(tiles, 0, t, of_key);
    }
    MPT_UNROLL
    for (int i = 0; i < kKeys; ++i) {
        const std::int64_t key = first + t.y * kKeys + i;
        if (key >= e.keys) continue;
        MPT_UNROLL
        for (int c = 0; c < kDims; ++c) {
            grad_k.at(head.b, head.h, size, key)[t.x + kTileLanes * c] = narrow<T>(of_key[i][c]);
            grad_v.at(head.b, head.h, size, key)[t.x + kTileLanes * c] = narrow<T>(of_value[i][c]);
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
