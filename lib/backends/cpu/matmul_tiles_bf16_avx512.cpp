#include <immintrin.h>

#include "backends/cpu/matmul_tiles_impl.h"

namespace mpt::cpu {

namespace {

struct Lanes {
    static constexpr std::int64_t kCount = 16;
    using Vector = __m512;
    static Vector zero() { return _mm512_setzero_ps(); }
    static Vector load(const float* from) { return _mm512_loadu_ps(from); }
    static void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
    static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
    static Vector all(float value) { return _mm512_set1_ps(value); }
    // c + a b of both halves of each lane; the casts only rename bits.
    static Vector fma(Vector a, Vector b, Vector c) { return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b); }
};

}  // namespace

const TileSet& tiles_bf16_avx512() {
    static constexpr auto kRuns = matmul_tiles::table<Lanes, 16>(std::make_integer_sequence<int, 14>{});
    static constexpr TileSet kTiles = {14, 32, 16, 2, kRuns.data()};
    return kTiles;
}

}  // namespace mpt::cpu
