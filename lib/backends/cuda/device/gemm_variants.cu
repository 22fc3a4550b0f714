#include <mma.h>

#include <type_traits>

#include "backends/cuda/gemm_variants.h"
#include "backends/cuda/own_product.h"

namespace mpt::gpu {

namespace {

// Tensor Cores as CUDA C++ shows them: a block of four warps makes a 64 x 64 tile of d; each warp a quarter
// of it, as two by two fragments of 16 x 16. Tiles of a and b go through shared memory, whose rows are padded
// so that the rows of a fragment lie in different banks.
constexpr int kWmmaTile = 64, kWmmaDepth = 32, kWmmaThreads = 128, kPadding = 8;

// What lies in memory for a storage type, what Tensor Cores take it for, and how deep their fragments are.
template <typename T>
struct Operand;
template <typename Narrow>
struct NarrowOperand {
    using Stored = Narrow;
    using Multiplied = Narrow;
    static constexpr int kDepth = 16;
    __device__ static Narrow rounded(Narrow value) { return value; }
};
template <>
struct Operand<f16> : NarrowOperand<__half> {};
// bf16 and tf32 came with compute capability 8.0; before it their kernels are empty, and no variant runs
// them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <typename T>
constexpr bool kHasFragments = std::is_same_v<T, f16>;
#else
template <typename T>
constexpr bool kHasFragments = true;
template <>
struct Operand<bf16> : NarrowOperand<__nv_bfloat16> {};
template <>
struct Operand<float> {
    using Stored = float;
    using Multiplied = nvcuda::wmma::precision::tf32;
    static constexpr int kDepth = 8;
    // Fragments hold f32 as it was stored; the Tensor Cores want it rounded.
    __device__ static float rounded(float value) { return nvcuda::wmma::__float_to_tf32(value); }
};
#endif

template <typename T>
__device__ __forceinline__ void wmma_tile(std::int64_t n, std::int64_t k, const T* a, const T* b, T* d) {
    using E = typename Operand<T>::Stored;
    using M = typename Operand<T>::Multiplied;
    constexpr int kDepth = Operand<T>::kDepth;
    namespace wmma = nvcuda::wmma;
    __shared__ __align__(32) E tile_a[kWmmaTile * (kWmmaDepth + kPadding)];
    __shared__ __align__(32) E tile_b[kWmmaDepth * (kWmmaTile + kPadding)];
    __shared__ __align__(32) float tile_d[kWmmaTile * kWmmaTile];
    const int warp = static_cast<int>(threadIdx.x) / 32, down = warp / 2 * 32, across = warp % 2 * 32;
    const std::int64_t row0 = std::int64_t{blockIdx.y} * kWmmaTile,
                       column0 = std::int64_t{blockIdx.x} * kWmmaTile;
    wmma::fragment<wmma::accumulator, 16, 16, kDepth, float> sums[2][2];
    for (auto& row : sums)
        for (auto& sum : row) wmma::fill_fragment(sum, 0.0f);
    constexpr int kPack = 16 / static_cast<int>(sizeof(E));  // elements of 16 bytes
    for (std::int64_t k0 = 0; k0 < k; k0 += kWmmaDepth) {
        for (int i = static_cast<int>(threadIdx.x); i < kWmmaTile * kWmmaDepth / kPack; i += kWmmaThreads) {
            const int ra = i / (kWmmaDepth / kPack), ca = i % (kWmmaDepth / kPack) * kPack;
            const int rb = i / (kWmmaTile / kPack), cb = i % (kWmmaTile / kPack) * kPack;
            *reinterpret_cast<uint4*>(tile_a + ra * (kWmmaDepth + kPadding) + ca) =
                *reinterpret_cast<const uint4*>(a + (row0 + ra) * k + k0 + ca);
            *reinterpret_cast<uint4*>(tile_b + rb * (kWmmaTile + kPadding) + cb) =
                *reinterpret_cast<const uint4*>(b + (k0 + rb) * n + column0 + cb);
        }
        __syncthreads();
        for (int step = 0; step < kWmmaDepth; step += kDepth) {
            wmma::fragment<wmma::matrix_a, 16, 16, kDepth, M, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, kDepth, M, wmma::row_major> right[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(left[i], tile_a + (down + 16 * i) * (kWmmaDepth + kPadding) + step,
                                       kWmmaDepth + kPadding);
                wmma::load_matrix_sync(right[i], tile_b + step * (kWmmaTile + kPadding) + across + 16 * i,
                                       kWmmaTile + kPadding);
                for (auto& value : left[i].x) value = Operand<T>::rounded(value);
                for (auto& value : right[i].x) value = Operand<T>::rounded(value);
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(tile_d + (down + 16 * i) * kWmmaTile + across + 16 * j, sums[i][j],
                                    kWmmaTile, wmma::mem_row_major);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x) * kPack; i < kWmmaTile * kWmmaTile;
         i += kWmmaThreads * kPack) {
        float sums_of_row[kPack];
        load<kPack>(tile_d + i, sums_of_row);
        store<kPack>(d + (row0 + i / kWmmaTile) * n + column0 + i % kWmmaTile, sums_of_row);
    }
}

template <typename T>
__global__ __launch_bounds__(kWmmaThreads, 4) void wmma_kernel(std::int64_t n, std::int64_t k, const T* a,
                                                               const T* b, T* d) {
    if constexpr (kHasFragments<T>) wmma_tile<T>(n, k, a, b, d);
}

template <typename T>
GemmVariant wmma_variant(Device& device, const ProductSpec& spec) {
    GemmVariant v;
    v.name = "wmma";
    v.precision = spec.tf32 ? "tf32" : std::string(name_of(spec.input));
    v.spec = spec;
    if (spec.m % kWmmaTile != 0 || spec.n % kWmmaTile != 0 || spec.k % kWmmaDepth != 0) {
        v.refusal = "takes multiples of 64 x 64 x 32";
        return v;
    }
    v.run = [&device, spec](const ProductArgs& args) {
        launch(device,
               {.blocks = spec.n / kWmmaTile, .threads = kWmmaThreads, .blocks_y = spec.m / kWmmaTile},
               wmma_kernel<T>, spec.n, spec.k, static_cast<const T*>(args.a), static_cast<const T*>(args.b),
               static_cast<T*>(args.d));
    };
    return v;
}

}  // namespace

std::vector<GemmVariant> gemm_variants(Device& device, std::int64_t m, std::int64_t n, std::int64_t k) {
    std::vector<GemmVariant> variants;
    const bool ampere = device.info().compute_capability >= 80;
    const auto spec_of = [&](DType type, bool tf32) {
        ProductSpec spec;
        spec.m = m, spec.n = n, spec.k = k;
        spec.input = spec.output = type;
        spec.tf32 = tf32;
        return spec;
    };
    const auto add_library = [&](const std::string& precision, const ProductSpec& spec) {
        const Planned<ProductArgs> plan = device.plan_product(spec);
        variants.push_back({"cublaslt", precision, spec, plan.run, plan.workspace_bytes, plan.refusal});
    };
    add_library("fp32", spec_of(DType::f32, false));
    if (ampere) add_library("tf32", spec_of(DType::f32, true));
    add_library("f16", spec_of(DType::f16, false));
    if (ampere) add_library("bf16", spec_of(DType::bf16, false));
    if (device.info().compute_capability >= 89) {
        // The one layout that all of them take.
        ProductSpec spec = spec_of(DType::bf16, false);
        spec.fp8 = Fp8::kE4m3;
        spec.transposed_b = true;
        add_library("fp8", spec);
    }
    variants.push_back(wmma_variant<f16>(device, spec_of(DType::f16, false)));
    if (ampere) {
        variants.push_back(wmma_variant<bf16>(device, spec_of(DType::bf16, false)));
        variants.push_back(wmma_variant<float>(device, spec_of(DType::f32, true)));
    }
    for (const DType type : {DType::f32, DType::f16}) {
        const ProductSpec spec = spec_of(type, false);
        variants.push_back({"cuda cores", type == DType::f32 ? "fp32" : "f16", spec,
                            [&device, spec](const ProductArgs& args) { own_product(device, spec, args); }, 0,
                            ""});
    }
    return variants;
}

}  // namespace mpt::gpu
