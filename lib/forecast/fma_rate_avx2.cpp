#include <immintrin.h>

#include "forecast/fma_rate.h"

namespace mpt {

double f32_products_avx2() {
    __m256 sum[kFmaChains];
    for (int c = 0; c < kFmaChains; ++c) sum[c] = _mm256_set1_ps(static_cast<float>(c));
    const __m256 factor = _mm256_set1_ps(0.999F), addend = _mm256_set1_ps(0.001F);
    for (int r = 0; r < kFmaRounds; ++r)
        for (int c = 0; c < kFmaChains; ++c) sum[c] = _mm256_fmadd_ps(sum[c], factor, addend);
    __m256 all = sum[0];
    for (int c = 1; c < kFmaChains; ++c) all = _mm256_add_ps(all, sum[c]);
    volatile float sink = _mm256_cvtss_f32(all);
    (void)sink;
    return 2.0 * 8 * kFmaChains * kFmaRounds;
}

}  // namespace mpt
