#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/simd_kernel.h"
#include "ops/top_k_hits/top_k_hits.h"

namespace mpt {

namespace {

// Logits of one row that come before the label's: greater, or NaN, or equal at a lower index.
template <typename T>
std::int64_t rank_of(const T* z, std::int64_t classes, std::int64_t label) {
    const float own = static_cast<float>(z[label]);
    const __m256 threshold = _mm256_set1_ps(own);
    std::int64_t rank = 0;
    const auto count = [&](std::int64_t begin, std::int64_t end, auto comes_before) {
        simd::for_lanes(begin, end, [&](std::int64_t c, auto lanes) {
            unsigned bits = static_cast<unsigned>(_mm256_movemask_ps(comes_before(simd::load(z + c, lanes))));
            if (end - c < simd::kLanes) bits &= (1u << (end - c)) - 1u;
            rank += std::popcount(bits);
        });
    };
    count(0, label, [&](__m256 v) { return _mm256_cmp_ps(v, threshold, _CMP_NLT_UQ); });
    count(label + 1, classes, [&](__m256 v) { return _mm256_cmp_ps(v, threshold, _CMP_NLE_UQ); });
    return rank;
}

void run_top_k_hits(const Signature& s, const KernelArgs& a) {
    const std::int64_t ignored = s.attributes.as<TopKHitsAttributes>().ignore_index;
    const std::int64_t rows = s.in(0).shape[0], classes = s.in(0).shape[1];
    const std::int64_t five = std::min<std::int64_t>(5, classes);
    const std::int32_t* labels = simd::input<std::int32_t>(a, 1);
    std::int32_t hits1 = 0, hits5 = 0;
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t label = labels[row];
            if (label == ignored) continue;
            MPT_CHECK(label >= 0 && label < classes, "label " + std::to_string(label));
            const T* z = simd::input<T>(a, 0) + row * classes;
            if (std::isnan(static_cast<float>(z[label]))) continue;
            const std::int64_t rank = rank_of(z, classes, label);
            hits1 += rank < 1 ? 1 : 0;
            hits5 += rank < five ? 1 : 0;
        }
    });
    simd::output<std::int32_t>(a, 0)[0] = hits1;
    simd::output<std::int32_t>(a, 1)[0] = hits5;
}

}  // namespace

void register_top_k_hits_cpu(KernelTable& table) {
    table.add(simd::kernel<run_top_k_hits>(top_k_hits_op));
}

}  // namespace mpt
