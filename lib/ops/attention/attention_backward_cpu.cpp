// Scores are computed again tile by tile; the probabilities come from the saved logsumexp. A head is one
// thread's, so that all sums have one order.
#include "ops/attention/attention_backward_kernel.h"
#include "ops/attention/attention_tiles.h"

namespace mpt {

namespace {

using namespace attention_tiles;

// One thread's f32 memory: keys and values of a head and their gradients, and a tile of queries.
struct Scratch {
    float *keys, *keys_transposed, *values_transposed, *grad_keys, *grad_values;
    float *queries, *grad_outputs, *grad_queries, *scores, *grad_scores;

    Scratch(float* memory, const AttentionExtent& e) {
        const std::int64_t width = padded(e.size), all = e.keys * width, tile = kQueries * width;
        const std::int64_t transposed = num_tile_keys(e.keys) * e.size;
        const auto next = [&](std::int64_t elements) {
            float* start = memory;
            memory += elements;
            return start;
        };
        keys = next(all);
        keys_transposed = next(transposed);
        values_transposed = next(transposed);
        grad_keys = next(all);
        grad_values = next(all);
        queries = next(tile);
        grad_outputs = next(tile);
        grad_queries = next(tile);
        scores = next(kQueries * kKeys);
        grad_scores = next(kQueries * kKeys);
    }
    static std::int64_t elements(const AttentionExtent& e) {
        return padded(3 * (e.keys + kQueries) * padded(e.size) + 2 * num_tile_keys(e.keys) * e.size +
                      2 * kQueries * kKeys);
    }
};

// Turns a row's scores and products grad_o . v into the probabilities and the gradients of the scores:
// p = exp(score - logsumexp), p (product - grad_o . o); zero from `seen` on.
void finish_row(float* scores, float* products, std::int64_t seen, std::int64_t count, float logsumexp,
                float along) {
    simd::for_lanes(0, seen, [=](std::int64_t j, auto lanes) {
        const __m256 p =
            simd::exp_below(_mm256_sub_ps(simd::load(scores + j, lanes), _mm256_set1_ps(logsumexp)));
        const __m256 distance = _mm256_sub_ps(simd::load(products + j, lanes), _mm256_set1_ps(along));
        simd::store(scores + j, p, lanes);
        simd::store(products + j, _mm256_mul_ps(p, distance), lanes);
    });
    std::fill(scores + seen, scores + count, 0.0f);
    std::fill(products + seen, products + count, 0.0f);
}

template <typename T>
struct Backward {
    AttentionExtent e;
    Tensor<const T> grad_o, q, k, v, o;
    const float* logsumexp;
    const std::int32_t* lengths;  // may be null
    Tensor<T> grad_q, grad_k, grad_v;
    bool drops;
    dropout_mask::Mask mask;

    // `next` is the head that comes after it, or this one again.
    void run_head(std::int64_t index, std::int64_t next, const Scratch& scratch) const {
        const std::int64_t b = index / e.heads, h = index % e.heads;
        const std::int64_t length = lengths == nullptr ? e.keys : lengths[b];
        const std::int64_t seen = e.num_seen(e.queries - 1, length), width = padded(e.size);
        pack_rows(k.rows(e, e.keys, b, h), seen, e.size, 1, scratch.keys);
        pack_transposed(k.rows(e, e.keys, b, h), seen, e.size, scratch.keys_transposed);
        pack_transposed(v.rows(e, e.keys, b, h), seen, e.size, scratch.values_transposed);
        std::fill_n(scratch.grad_keys, e.keys * width, 0.0f);
        std::fill_n(scratch.grad_values, e.keys * width, 0.0f);
        for (std::int64_t first = 0; first < e.queries; first += kQueries) {
            prefetch(next, first / kQueries, (e.queries + kQueries - 1) / kQueries);
            run_tile({b, h, first, std::min(kQueries, e.queries - first), length}, scratch);
        }
        unpack_rows(scratch.grad_keys, e.keys, e.size, 1, grad_k.rows(e, e.keys, b, h));
        unpack_rows(scratch.grad_values, e.keys, e.size, 1, grad_v.rows(e, e.keys, b, h));
    }

  private:
    struct Tile {
        std::int64_t batch, head, first, count, length;
    };

    [[gnu::always_inline]] void prefetch(std::int64_t index, std::int64_t part, std::int64_t parts) const {
        const std::int64_t b = index / e.heads, h = index % e.heads;
        for (const Tensor<const T>* tensor : {&q, &grad_o, &o})
            prefetch_rows(tensor->rows(e, e.queries, b, h), e.queries, e.size, part, parts);
        for (const Tensor<const T>* tensor : {&k, &v})
            prefetch_rows(tensor->rows(e, e.keys, b, h), e.keys, e.size, part, parts);
    }

    template <typename U>
    Rows<U> rows(const Tensor<U>& tensor, const Tile& tile) const {
        return tensor.rows(e, e.queries, tile.batch, tile.head).from(tile.first);
    }

    void run_tile(const Tile& tile, const Scratch& scratch) const {
        const std::int64_t width = padded(e.size), count = tile.count;
        const float scale = static_cast<float>(e.scale());
        pack_rows(rows(q, tile), count, e.size, scale, scratch.queries);
        pack_rows(rows(grad_o, tile), count, e.size, 1, scratch.grad_outputs);
        float along[kQueries];
        for (std::int64_t r = 0; r < count; ++r)
            along[r] = dot(scratch.grad_outputs + r * width, rows(o, tile).at(r));
        const std::int64_t seen = e.num_seen(tile.first + count - 1, tile.length);
        if (seen == 0) std::fill_n(scratch.grad_queries, count * width, 0.0f);
        for (std::int64_t key = 0; key < seen; key += kKeys)
            run_keys(tile, key, std::min(kKeys, seen - key), along, scratch);
        unpack_rows(scratch.grad_queries, count, e.size, scale, rows(grad_q, tile));
    }

    float dot(const float* a, const T* b) const {
        __m256 sum = _mm256_setzero_ps();
        simd::for_lanes(0, e.size, [&](std::int64_t i, auto lanes) {
            sum = _mm256_fmadd_ps(simd::load(a + i, lanes), simd::load(b + i, lanes), sum);
        });
        return static_cast<float>(simd::sum_of(sum));
    }

    // Probabilities are dropped, and so are the gradients that come back through them.
    void finish_rows(const Tile& tile, std::int64_t key, std::int64_t keys, const float* along,
                     const Scratch& scratch) const {
        const std::int64_t head = tile.batch * e.heads + tile.head;
        const float* statistics = logsumexp + head * e.queries + tile.first;
        for (std::int64_t r = 0; r < tile.count; ++r) {
            float* scores = scratch.scores + r * kKeys;
            float* products = scratch.grad_scores + r * kKeys;
            const std::int64_t first = e.first_number(head, tile.first + r) + key;
            const std::int64_t seen =
                std::clamp<std::int64_t>(e.num_seen(tile.first + r, tile.length) - key, 0, keys);
            if (drops) drop_row(mask, first, products, seen);
            finish_row(scores, products, seen, padded(keys), statistics[r], along[r]);
            if (drops) drop_row(mask, first, scores, seen);
        }
    }

    // The queries are scaled already, so that grad_scores^T queries is the whole gradient of the keys.
    void run_keys(const Tile& tile, std::int64_t key, std::int64_t keys, const float* along,
                  const Scratch& scratch) const {
        const std::int64_t width = padded(e.size), count = tile.count, columns = padded(keys);
        const Matrix scores{scratch.scores, kKeys}, grad_scores{scratch.grad_scores, kKeys};
        product<Into::kSet>({count, columns, e.size}, {scratch.queries, width, 1},
                            scratch.keys_transposed + key * e.size, kKeys, scores);
        product<Into::kSet>({count, columns, e.size}, {scratch.grad_outputs, width, 1},
                            scratch.values_transposed + key * e.size, kKeys, grad_scores);
        finish_rows(tile, key, keys, along, scratch);
        product<Into::kAdd>({keys, width, count}, {scores.data, 1, kKeys}, scratch.grad_outputs, width,
                            {scratch.grad_values + key * width, width});
        product<Into::kAdd>({keys, width, count}, {grad_scores.data, 1, kKeys}, scratch.queries, width,
                            {scratch.grad_keys + key * width, width});
        product(key == 0 ? Into::kSet : Into::kAdd, {count, width, keys}, {grad_scores.data, kKeys, 1},
                scratch.keys + key * width, width, {scratch.grad_queries, width});
    }
};

void run(const Signature& s, const AttentionExtent& e, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const DropoutAttributes& dropout = s.attributes.as<AttentionAttributes>().dropout;
    const int o = 1 + layout.num_tensors, lengths = o + 2, step = o + 3;
    const dropout_mask::Mask mask(dropout, s.has(step) ? *simd::input<std::int32_t>(a, step) : 0);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const auto part = [&](std::size_t i) {
            return Tensor<const T>{simd::input<T>(a, 1 + layout.places[i].tensor), layout.places[i]};
        };
        const auto gradient = [&](std::size_t i) {
            return Tensor<T>{simd::output<T>(a, layout.places[i].tensor), layout.places[i]};
        };
        const Backward<T> backward{e,
                                   {simd::input<T>(a, 0), kWhole},
                                   part(0),
                                   part(1),
                                   part(2),
                                   {simd::input<T>(a, o), kWhole},
                                   simd::input<float>(a, o + 1),
                                   s.has(lengths) ? simd::input<std::int32_t>(a, lengths) : nullptr,
                                   gradient(0),
                                   gradient(1),
                                   gradient(2),
                                   dropout.probability > 0,
                                   mask};
        cpu::parallel_for(e.batch * e.heads, 1, s.num_threads, [&](cpu::Range heads, int thread) {
            const Scratch scratch(static_cast<float*>(a.workspace) + thread * Scratch::elements(e), e);
            for (std::int64_t head = heads.begin; head < heads.end; ++head)
                backward.run_head(head, std::min(head + 1, heads.end - 1), scratch);
        });
    });
}

}  // namespace

PreparedKernel attention_backward_prepare(const Signature& s) {
    const AttentionExtent e(attention_layout(*s.op), std::span(s.inputs).subspan(1),
                            s.attributes.as<AttentionAttributes>());
    return {[s, e](const KernelArgs& a) { run(s, e, a); },
            static_cast<std::size_t>(Scratch::elements(e) * s.num_threads) * sizeof(float), "avx2 tiles"};
}

}  // namespace mpt
