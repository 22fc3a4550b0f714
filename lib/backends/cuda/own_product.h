// A matrix product of our own on plain CUDA cores: 64 x 64 tiles in shared memory, four by four results a
// thread, f32 sums. The fallback where cuBLASLt refuses, and one of the rows of `mpt-train gemm`.
#pragma once

#include "backends/cuda/fp8_math.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kTile = 64, kTileDepth = 16, kTileThreads = 256;

// a [m,k] or transposed [k,m], b [k,n] or transposed [n,k], row-major; the scales may be null.
template <typename A, typename B, typename D>
MPT_KERNEL(kTileThreads)
void own_product_kernel(ProductSpec s, const A* a, const B* b, const float* scale_a, const float* scale_b,
                        const float* bias, D* d) {
    MPT_SHARED(float, tile_a, kTileDepth* kTile);
    MPT_SHARED(float, tile_b, kTileDepth* kTile);
    const std::int64_t row0 = block_index_y() * kTile, column0 = block_index() * kTile;
    const int down = thread_index() / 16 * 4, across = thread_index() % 16 * 4;
    float sums[4][4] = {};
    for (std::int64_t k0 = 0; k0 < s.k; k0 += kTileDepth) {
        for (int i = thread_index(); i < kTileDepth * kTile; i += kTileThreads) {
            // Neighbouring threads read neighbouring elements, whichever way the matrix lies.
            const int ka = s.transposed_a ? i / kTile : i % kTileDepth,
                      ra = s.transposed_a ? i % kTile : i / kTileDepth;
            const int kb = s.transposed_b ? i % kTileDepth : i / kTile,
                      cb = s.transposed_b ? i / kTileDepth : i % kTile;
            const std::int64_t row = row0 + ra, column = column0 + cb;
            const bool has_a = row < s.m && k0 + ka < s.k, has_b = column < s.n && k0 + kb < s.k;
            const std::int64_t at_a = s.transposed_a ? (k0 + ka) * s.m + row : row * s.k + k0 + ka;
            const std::int64_t at_b = s.transposed_b ? column * s.k + k0 + kb : (k0 + kb) * s.n + column;
            tile_a.put(ka * kTile + ra, has_a ? widen(a[at_a]) : 0.0f);
            tile_b.put(kb * kTile + cb, has_b ? widen(b[at_b]) : 0.0f);
        }
        sync_block();
        for (int k = 0; k < kTileDepth; ++k) {
            float left[4], right[4];
            MPT_UNROLL
            for (int i = 0; i < 4; ++i) left[i] = tile_a.get(k * kTile + down + i);
            MPT_UNROLL
            for (int j = 0; j < 4; ++j) right[j] = tile_b.get(k * kTile + across + j);
            MPT_UNROLL
            for (int i = 0; i < 4; ++i) {
                MPT_UNROLL
                for (int j = 0; j < 4; ++j) sums[i][j] += left[i] * right[j];
            }
        }
        sync_block();
    }
    const float scale = (scale_a == nullptr ? 1.0f : *scale_a) * (scale_b == nullptr ? 1.0f : *scale_b);
    MPT_UNROLL
    for (int i = 0; i < 4; ++i) {
        MPT_UNROLL
        for (int j = 0; j < 4; ++j) {
            const std::int64_t row = row0 + down + i, column = column0 + across + j;
            if (row >= s.m || column >= s.n) continue;
            float value = sums[i][j] * scale + (s.bias ? bias[column] : 0.0f);
            if (s.accumulate) value += widen(d[row * s.n + column]);
            d[row * s.n + column] = narrow<D>(value);
        }
    }
}

inline void own_product(Device& device, const ProductSpec& s, const ProductArgs& args) {
    const Launch shape = {
        .blocks = blocks_for(s.n, kTile), .threads = kTileThreads, .blocks_y = blocks_for(s.m, kTile)};
    const auto run = [&]<typename A, typename B, typename D>(A, B, D) {
        launch(device, shape, own_product_kernel<A, B, D>, s, static_cast<const A*>(args.a),
               static_cast<const B*>(args.b), args.scale_a, args.scale_b, args.bias, static_cast<D*>(args.d));
    };
    if (s.fp8 != Fp8::kNone)
        return with_storage(s.output, [&]<typename D>(D) {
            s.fp8 == Fp8::kE4m3 ? run(e4m3{}, e4m3{}, D{}) : run(e5m2{}, e4m3{}, D{});
        });
    with_storage(s.input, [&]<typename T>(T) {
        if (s.output == DType::f32)
            run(T{}, T{}, float{});
        else
            run(T{}, T{}, T{});
    });
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
