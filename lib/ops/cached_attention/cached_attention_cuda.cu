#include "backends/cuda/rows.h"
#include "ops/cached_attention/cached_attention.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

constexpr int kThreads = gpu::kRowThreads;
constexpr std::int64_t kMostSize = 256;  // of a head
constexpr int kMostPartials = 1024;      // groups of lanes times the size of a head

struct Cached {
    std::int64_t queries, capacity, heads, size;
    float scale;
    int lanes;  // that share a key: a power of two up to 32
};

// Softmax over a growing row: sums are those of exp(score - greatest).
template <int slots, int pack>
struct Running {
    float greatest = -INFINITY, sum = 0;
    float values[slots][pack] = {};

    MPT_DEVICE void add(float score, const float (&value)[slots][pack]) {
        const float above = score > greatest || score != score ? score : greatest;
        const float keep = std::exp(greatest - above), share = std::exp(score - above);
        sum = sum * keep + share;
        MPT_UNROLL
        for (int j = 0; j < slots; ++j) {
            MPT_UNROLL
            for (int k = 0; k < pack; ++k) values[j][k] = values[j][k] * keep + share * value[j][k];
        }
        greatest = above;
    }
};

template <int slots, int pack, typename T>
MPT_DEVICE void load_head(const Cached& c, int lane, const T* from, float (&to)[slots][pack]) {
    MPT_UNROLL
    for (int j = 0; j < slots; ++j) {
        const std::int64_t i = (std::int64_t{j} * c.lanes + lane) * pack;
        if (i < c.size) gpu::load<pack>(from + i, to[j]);
    }
}

// A block for each query of a head. Groups of lanes walk the keys, each with a softmax of its own; they are
// joined in one order.
template <int slots, int pack, typename T, typename C>
MPT_KERNEL(kThreads)
void cached_attention_kernel(Cached c, const T* q, const C* cache, const std::int32_t* lengths, T* o) {
    MPT_SHARED(float, greatest_of, kThreads);
    MPT_SHARED(float, sum_of, kThreads);
    MPT_SHARED(float, values_of, kMostPartials);
    const std::int64_t head = gpu::block_index() % c.heads, row = gpu::block_index() / c.heads;
    const std::int64_t b = row / c.queries, query = row % c.queries;
    const int lane = gpu::thread_index() % c.lanes, group = gpu::thread_index() / c.lanes;
    const int groups = kThreads / c.lanes;
    std::int64_t seen = lengths[b] - c.queries + query + 1;
    seen = seen < 0 ? 0 : seen > c.capacity ? c.capacity : seen;
    float mine[slots][pack] = {};
    load_head(c, lane, q + (row * c.heads + head) * c.size, mine);
    Running<slots, pack> running;
    // All lanes of a warp stay together: they exchange sums.
    for (std::int64_t first = 0; first < seen; first += groups) {
        const std::int64_t at = first + group;
        const C* key = cache + ((b * c.capacity + (at < seen ? at : 0)) * 2 * c.heads + head) * c.size;
        float v[slots][pack] = {};
        load_head(c, lane, key, v);
        float score = 0;
        MPT_UNROLL
        for (int j = 0; j < slots; ++j) {
            MPT_UNROLL
            for (int k = 0; k < pack; ++k) score += mine[j][k] * v[j][k];
        }
        for (int mask = c.lanes / 2; mask > 0; mask /= 2) score += gpu::shuffle_xor(score, mask);
        if (at >= seen) continue;
        load_head(c, lane, key + c.heads * c.size, v);
        running.add(score * c.scale, v);
    }
    if (lane == 0) {
        greatest_of.put(group, running.greatest);
        sum_of.put(group, running.sum);
    }
    MPT_UNROLL
    for (int j = 0; j < slots; ++j) {
        MPT_UNROLL
        for (int k = 0; k < pack; ++k) {
            const std::int64_t i = (std::int64_t{j} * c.lanes + lane) * pack + k;
            if (i < c.size) values_of.put(group * c.size + i, running.values[j][k]);
        }
    }
    gpu::sync_block();
    for (std::int64_t i = gpu::thread_index(); i < c.size; i += kThreads) {
        Running<1, 1> all;
        for (int g = 0; g < groups && g < seen; ++g) {
            const float above = all.greatest > greatest_of.get(g) ? all.greatest : greatest_of.get(g);
            const float keep = std::exp(all.greatest - above), share = std::exp(greatest_of.get(g) - above);
            all.sum = all.sum * keep + sum_of.get(g) * share;
            all.values[0][0] = all.values[0][0] * keep + values_of.get(g * c.size + i) * share;
            all.greatest = above;
        }
        o[(row * c.heads + head) * c.size + i] =
            gpu::narrow<T>(seen == 0 ? 0.0f : all.values[0][0] / all.sum);
    }
}

std::string refusal(const Signature& s) {
    if (s.in(0).shape[3] > kMostSize) return "takes heads of up to 256";
    return gpu::refusal(s);
}

void run_cached_attention(const gpu::Call& s, const KernelArgs& a) {
    const CachedAttentionExtent e(s.inputs);
    Cached c{e.queries, e.capacity, e.heads, e.size, 1 / std::sqrt(static_cast<float>(e.size)), 1};
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_storage(s.in(1).dtype, [&]<typename C>(C) {
            const auto run = [&]<int pack>(std::integral_constant<int, pack>) {
                constexpr int kSlots = static_cast<int>(kMostSize) / gpu::kLanes / pack;
                while (c.lanes < gpu::kLanes && std::int64_t{c.lanes} * pack < c.size) c.lanes *= 2;
                gpu::launch(*s.device, {.blocks = e.batch * e.queries * e.heads, .threads = kThreads},
                            cached_attention_kernel<kSlots, pack, T, C>, c, a.in<T>(0), a.in<C>(1),
                            a.in<std::int32_t>(2), a.out<T>(0));
            };
            gpu::with_pack<gpu::kPerPack<C>>(c.size, run);
        });
    });
}

}  // namespace

MPT_REGISTER_CUDA(cached_attention)(KernelTable& table) {
    table.add(gpu::kernel<run_cached_attention>(cached_attention_op, refusal));
}

}  // namespace mpt
