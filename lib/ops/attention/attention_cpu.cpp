#include <cmath>
#include <limits>

#include "ops/attention/attention_backward_kernel.h"
#include "ops/attention/attention_tiles.h"

namespace mpt {

namespace {

using namespace attention_tiles;

// One thread's f32 memory: the keys and values of a head, and a tile of queries.
struct Scratch {
    float *keys, *values, *queries, *scores, *sums;

    Scratch(float* memory, const AttentionExtent& e) {
        keys = memory;
        values = keys + num_tile_keys(e.keys) * e.size;
        queries = values + e.keys * padded(e.size);
        scores = queries + kQueries * padded(e.size);
        sums = scores + kQueries * kKeys;
    }
    static std::int64_t elements(const AttentionExtent& e) {
        const std::int64_t all =
            num_tile_keys(e.keys) * e.size + (e.keys + 2 * kQueries) * padded(e.size) + kQueries * kKeys;
        return padded(all);
    }
};

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// The softmax of a row as it grows: the greatest score so far and the sum of exp(score - greatest).
struct Growing {
    float greatest = kLeast, sum = 0;

    // Takes the first `seen` of `count` scores, which become exp(score - greatest), the others 0. Returns the
    // factor that what was summed before shrinks by.
    float take(float* scores, std::int64_t seen, std::int64_t count) {
        std::fill(scores + seen, scores + count, 0.0f);
        if (seen == 0) return 1;
        const __m256 least = _mm256_set1_ps(kLeast);
        __m256 best = least;
        simd::for_lanes(0, seen, [&](std::int64_t j, auto lanes) {
            best = _mm256_max_ps(only(simd::load(scores + j, lanes), lanes, least), best);
        });
        const float before = greatest;
        greatest = std::max(greatest, greatest_lane(best));
        const float factor = before == kLeast ? 0.0f : std::exp(before - greatest);
        const __m256 origin = _mm256_set1_ps(greatest);
        __m256 total = _mm256_setzero_ps();
        simd::for_lanes(0, seen, [&](std::int64_t j, auto lanes) {
            const __m256 p = simd::exp_below(_mm256_sub_ps(simd::load(scores + j, lanes), origin));
            total = _mm256_add_ps(total, only(p, lanes, _mm256_setzero_ps()));
            simd::store(scores + j, p, lanes);
        });
        sum = sum * factor + sum_of_lanes(total);
        return factor;
    }
};

void scale_row(float* row, std::int64_t size, float factor) {
    if (factor == 1) return;
    const __m256 scale = _mm256_set1_ps(factor);
    for (std::int64_t i = 0; i < size; i += simd::kLanes)
        _mm256_storeu_ps(row + i, _mm256_mul_ps(_mm256_loadu_ps(row + i), scale));
}

template <typename T>
struct Forward {
    AttentionExtent e;
    Tensor<const T> q, k, v;
    Tensor<T> o;
    const std::int32_t* lengths;  // may be null
    float* logsumexp;
    bool drops;
    dropout_mask::Mask mask;

    // `next` is the head that comes after it, or this one again.
    void run_head(std::int64_t index, std::int64_t next, const Scratch& scratch) const {
        const std::int64_t b = index / e.heads, h = index % e.heads;
        const std::int64_t length = lengths == nullptr ? e.keys : lengths[b];
        const std::int64_t seen = e.num_seen(e.queries - 1, length);
        pack_transposed(k.rows(e, e.keys, b, h), seen, e.size, scratch.keys);
        pack_rows(v.rows(e, e.keys, b, h), seen, e.size, 1, scratch.values);
        const Rows<const T> queries = q.rows(e, e.queries, b, h);
        const Rows<T> outputs = o.rows(e, e.queries, b, h);
        for (std::int64_t first = 0; first < e.queries; first += kQueries) {
            const std::int64_t count = std::min(kQueries, e.queries - first);
            pack_rows(queries.from(first), count, e.size, static_cast<float>(e.scale()), scratch.queries);
            prefetch(next, first / kQueries, (e.queries + kQueries - 1) / kQueries);
            run_tile({index, first, count, length}, scratch, outputs.from(first));
        }
    }

  private:
    struct Tile {
        std::int64_t head, first, count, length;
    };

    [[gnu::always_inline]] void prefetch(std::int64_t index, std::int64_t part, std::int64_t parts) const {
        const std::int64_t b = index / e.heads, h = index % e.heads;
        prefetch_rows(q.rows(e, e.queries, b, h), e.queries, e.size, part, parts);
        prefetch_rows(k.rows(e, e.keys, b, h), e.keys, e.size, part, parts);
        prefetch_rows(v.rows(e, e.keys, b, h), e.keys, e.size, part, parts);
    }

    void run_tile(const Tile& tile, const Scratch& scratch, const Rows<T>& outputs) const {
        const auto [head, first, count, length] = tile;
        float* statistics = logsumexp + head * e.queries + first;
        const std::int64_t width = padded(e.size), seen = e.num_seen(first + count - 1, length);
        Growing softmax[kQueries];
        if (seen == 0) std::fill_n(scratch.sums, count * width, 0.0f);
        for (std::int64_t key = 0; key < seen; key += kKeys) {
            const std::int64_t keys = std::min(kKeys, seen - key), columns = padded(keys);
            product<Into::kSet>({count, columns, e.size}, {scratch.queries, width, 1},
                                scratch.keys + key * e.size, kKeys, {scratch.scores, kKeys});
            for (std::int64_t r = 0; r < count; ++r) {
                const std::int64_t own =
                    std::clamp<std::int64_t>(e.num_seen(first + r, length) - key, 0, keys);
                const float factor = softmax[r].take(scratch.scores + r * kKeys, own, columns);
                if (key > 0) scale_row(scratch.sums + r * width, width, factor);
                if (drops)
                    drop_row(mask, e.first_number(head, first + r) + key, scratch.scores + r * kKeys, own);
            }
            product(key == 0 ? Into::kSet : Into::kAdd, {count, width, keys}, {scratch.scores, kKeys, 1},
                    scratch.values + key * width, width, {scratch.sums, width});
        }
        for (std::int64_t r = 0; r < count; ++r) {
            const bool blind = e.num_seen(first + r, length) == 0;
            unpack_rows(scratch.sums + r * width, 1, e.size, blind ? 0 : 1 / softmax[r].sum, outputs.from(r));
            statistics[r] = blind ? 0 : softmax[r].greatest + std::log(softmax[r].sum);
        }
    }
};

void run_attention(const Signature& s, const AttentionExtent& e, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const DropoutAttributes& dropout = s.attributes.as<AttentionAttributes>().dropout;
    const int lengths = layout.num_tensors, step = lengths + 1;
    const dropout_mask::Mask mask(dropout, s.has(step) ? *simd::input<std::int32_t>(a, step) : 0);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const auto part = [&](std::size_t i) {
            return Tensor<const T>{simd::input<T>(a, layout.places[i].tensor), layout.places[i]};
        };
        const Forward<T> forward{e,
                                 part(0),
                                 part(1),
                                 part(2),
                                 {simd::output<T>(a, 0), kWhole},
                                 s.has(lengths) ? simd::input<std::int32_t>(a, lengths) : nullptr,
                                 simd::output<float>(a, 1),
                                 dropout.probability > 0,
                                 mask};
        cpu::parallel_for(e.batch * e.heads, 1, s.num_threads, [&](cpu::Range heads, int thread) {
            const Scratch scratch(static_cast<float*>(a.workspace) + thread * Scratch::elements(e), e);
            for (std::int64_t head = heads.begin; head < heads.end; ++head)
                forward.run_head(head, std::min(head + 1, heads.end - 1), scratch);
        });
    });
}

PreparedKernel prepare(const Signature& s) {
    const AttentionExtent e(attention_layout(*s.op), s.inputs, s.attributes.as<AttentionAttributes>());
    return {[s, e](const KernelArgs& a) { run_attention(s, e, a); },
            static_cast<std::size_t>(Scratch::elements(e) * s.num_threads) * sizeof(float), "avx2 tiles"};
}

// All data inputs share one type.
std::string refusal(const Signature& s) {
    for (std::size_t i = 0; i < s.inputs.size(); ++i)
        if (s.present[i] && s.op->is_data_input(s.attributes, static_cast<int>(i)) &&
            s.inputs[i].dtype != s.inputs[0].dtype)
            return "needs one type of data";
    return simd::refusal(s);
}

}  // namespace

void register_attention_cpu(KernelTable& table) {
    for (const OpType* op : {&attention_op, &qkv_attention_op, &cross_attention_op})
        table.add({op->name, "simd", refusal, prepare});
    for (const OpType* op :
         {&attention_backward_op, &qkv_attention_backward_op, &cross_attention_backward_op})
        table.add({op->name, "simd", refusal, attention_backward_prepare});
}

}  // namespace mpt
