#include <immintrin.h>

#include "backends/cpu/matmul_tiles_impl.h"

namespace mpt::cpu {

namespace {

struct Lanes {
    static constexpr std::int64_t kCount = 8;
    using Vector = __m256;
    static Vector zero() { return _mm256_setzero_ps(); }
    static Vector load(const float* from) { return _mm256_loadu_ps(from); }
    static void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
    static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
    static Vector all(float value) { return _mm256_set1_ps(value); }
    static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

const TileSet& tiles_avx2() {
    static constexpr auto kRuns = matmul_tiles::table<Lanes, 8>(std::make_integer_sequence<int, 6>{});
    static constexpr TileSet kTiles = {6, 16, 8, 1, kRuns.data()};
    return kTiles;
}

}  // namespace mpt::cpu
