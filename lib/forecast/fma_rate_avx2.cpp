#include <immintrin.h>

#include <algorithm>
#include <chrono>

#include "forecast/cpu.h"

namespace mpt {

namespace {

constexpr int kChains = 10;  // enough to hide the latency of two units
constexpr int kRounds = 20000;
constexpr int kTries = 12;  // the fastest counts: others were disturbed

float multiply_add_rounds() {
    __m256 sum[kChains];
    for (int c = 0; c < kChains; ++c) sum[c] = _mm256_set1_ps(static_cast<float>(c));
    const __m256 factor = _mm256_set1_ps(0.999F), addend = _mm256_set1_ps(0.001F);
    for (int r = 0; r < kRounds; ++r)
        for (int c = 0; c < kChains; ++c) sum[c] = _mm256_fmadd_ps(sum[c], factor, addend);
    __m256 all = sum[0];
    for (int c = 1; c < kChains; ++c) all = _mm256_add_ps(all, sum[c]);
    return _mm256_cvtss_f32(all);
}

}  // namespace

double measured_fma_flops() {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    double best = 0;
    for (int t = 0; t < kTries; ++t) {
        const auto start = std::chrono::steady_clock::now();
        volatile float sink = multiply_add_rounds();
        (void)sink;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best = std::max(best, 2.0 * 8 * kChains * kRounds / took.count());
    }
    return best;
}

}  // namespace mpt
