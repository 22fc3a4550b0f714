#include <cmath>

#include "ops/cached_attention/cached_attention.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// Scores of all keys a thread's query sees, then its f32 output.
struct Scratch {
    float *scores, *sums;
    Scratch(void* memory, const CachedAttentionExtent& e, int thread)
        : scores(static_cast<float*>(memory) + thread * elements(e)), sums(scores + padded(e.capacity)) {}
    static std::int64_t padded(std::int64_t count) { return (count + 15) / 16 * 16; }
    static std::int64_t elements(const CachedAttentionExtent& e) {
        return padded(e.capacity) + padded(e.size);
    }
};

inline __m256 only(__m256 v, simd::Full) {
    return v;
}
inline __m256 only(__m256 v, simd::Some lanes) {
    return _mm256_and_ps(v, _mm256_castsi256_ps(simd::mask_of(lanes)));
}

constexpr int kKeys = 4;  // at a time, so that their sums do not wait for each other

template <int count, typename T, typename C>
void score_keys(const T* q, const C* keys, std::int64_t stride, std::int64_t size, float scale, float* to) {
    __m256 sums[count];
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    simd::for_lanes(0, size, [&](std::int64_t i, auto lanes) {
        const __m256 x = simd::load(q + i, lanes);
        for (int k = 0; k < count; ++k)
            sums[k] = _mm256_fmadd_ps(x, simd::load(keys + k * stride + i, lanes), sums[k]);
    });
    for (int k = 0; k < count; ++k) to[k] = scale * static_cast<float>(simd::sum_of(sums[k]));
}

// Scores become exp(score - greatest); returns their sum.
double exponentials(float* scores, std::int64_t count) {
    float greatest = scores[0];
    for (std::int64_t j = 1; j < count; ++j) greatest = std::max(greatest, scores[j]);
    __m256 total = _mm256_setzero_ps();
    simd::for_lanes(0, count, [&](std::int64_t j, auto lanes) {
        const __m256 p =
            simd::exp_of_negative(_mm256_sub_ps(simd::load(scores + j, lanes), _mm256_set1_ps(greatest)));
        total = _mm256_add_ps(total, only(p, lanes));
        simd::store(scores + j, p, lanes);
    });
    return simd::sum_of(total);
}

// `keys` is key 0 of the head; its value is half a stride further.
template <typename T, typename C>
void run_query(const T* q, const C* keys, std::int64_t seen, const CachedAttentionExtent& e,
               const Scratch& scratch, T* o) {
    const std::int64_t stride = 2 * e.heads * e.size;
    const float scale = 1 / std::sqrt(static_cast<float>(e.size));
    std::fill_n(scratch.sums, e.size, 0.0f);
    double sum = 1;
    if (seen > 0) {
        std::int64_t j = 0;
        for (; j + kKeys <= seen; j += kKeys)
            score_keys<kKeys>(q, keys + j * stride, stride, e.size, scale, scratch.scores + j);
        for (; j < seen; ++j) score_keys<1>(q, keys + j * stride, stride, e.size, scale, scratch.scores + j);
        sum = exponentials(scratch.scores, seen);
    }
    const C* values = keys + stride / 2;
    for (std::int64_t j = 0; j < seen; ++j) {
        const __m256 p = _mm256_set1_ps(scratch.scores[j]);
        simd::for_lanes(0, e.size, [&](std::int64_t i, auto lanes) {
            float* to = scratch.sums + i;
            simd::store(to,
                        _mm256_fmadd_ps(p, simd::load(values + j * stride + i, lanes), simd::load(to, lanes)),
                        lanes);
        });
    }
    const __m256 share = _mm256_set1_ps(static_cast<float>(1 / sum));
    simd::for_lanes(0, e.size, [&](std::int64_t i, auto lanes) {
        simd::store(o + i, _mm256_mul_ps(simd::load(scratch.sums + i, lanes), share), lanes);
    });
}

template <typename T, typename C>
void run_all(const Signature& s, const KernelArgs& a) {
    const CachedAttentionExtent e(s.inputs);
    const std::int32_t* lengths = simd::input<std::int32_t>(a, 2);
    cpu::parallel_for(e.batch * e.heads, 1, s.num_threads, [&](cpu::Range range, int thread) {
        const Scratch scratch(a.workspace, e, thread);
        for (std::int64_t index = range.begin; index < range.end; ++index) {
            const std::int64_t b = index / e.heads, h = index % e.heads;
            for (std::int64_t i = 0; i < e.queries; ++i) {
                const std::int64_t at = e.query_at(b, i, h);
                run_query(simd::input<T>(a, 0) + at, simd::input<C>(a, 1) + e.key_at(b, 0, h),
                          e.num_seen(i, lengths[b]), e, scratch, simd::output<T>(a, 0) + at);
            }
        }
    });
}

PreparedKernel prepare(const Signature& s) {
    const auto run = [s](const KernelArgs& a) {
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
            simd::with_storage(s.in(1).dtype, [&]<typename C>(C) { run_all<T, C>(s, a); });
        });
    };
    const std::int64_t elements = Scratch::elements(CachedAttentionExtent(s.inputs)) * s.num_threads;
    return {run, static_cast<std::size_t>(elements) * sizeof(float), "avx2"};
}

}  // namespace

void register_cached_attention_cpu(KernelTable& table) {
    table.add({cached_attention_op.name, "simd", simd::refusal, prepare});
}

}  // namespace mpt
