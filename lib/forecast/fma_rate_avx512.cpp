#include <immintrin.h>

#include "forecast/fma_rate.h"

namespace mpt {

double f32_products_avx512() {
    __m512 sum[kFmaChains];
    for (int c = 0; c < kFmaChains; ++c) sum[c] = _mm512_set1_ps(static_cast<float>(c));
    const __m512 factor = _mm512_set1_ps(0.999F), addend = _mm512_set1_ps(0.001F);
    for (int r = 0; r < kFmaRounds; ++r)
        for (int c = 0; c < kFmaChains; ++c) sum[c] = _mm512_fmadd_ps(sum[c], factor, addend);
    __m512 all = sum[0];
    for (int c = 1; c < kFmaChains; ++c) all = _mm512_add_ps(all, sum[c]);
    volatile float sink = _mm512_cvtss_f32(all);
    (void)sink;
    return 2.0 * 16 * kFmaChains * kFmaRounds;
}

}  // namespace mpt
