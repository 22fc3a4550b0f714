// What kernels compute with: values in storage types are read as f32 and rounded once on store; sixteen bytes
// at a time where addresses allow; sums over lanes and blocks in one fixed order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backends/cuda/launch.h"
#include "core/dtype.h"
#include "core/float_formats.h"

#ifndef MPT_HOST_TWIN
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

MPT_DEVICE float widen(float value) {
    return value;
}
#ifdef MPT_HOST_TWIN
inline float widen(f16 value) {
    return static_cast<float>(value);
}
inline float widen(bf16 value) {
    return static_cast<float>(value);
}
template <typename T>
T narrow(float value) {
    return T(value);
}
#else
MPT_DEVICE float widen(f16 value) {
    return __half2float(__ushort_as_half(value.bits));
}
MPT_DEVICE float widen(bf16 value) {
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
template <typename T>
MPT_DEVICE T narrow(float value) {
    if constexpr (std::is_same_v<T, f16>) {
        f16 y;
        y.bits = __half_as_ushort(__float2half_rn(value));
        return y;
    } else if constexpr (std::is_same_v<T, bf16>) {
        bf16 y;
        y.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
        return y;
    } else {
        return value;
    }
}
#endif
MPT_DEVICE float widen(std::uint8_t value) {
    return static_cast<float>(value);
}

struct Turn {
    float cosine, sine;
};
// Of `part` of a whole turn; the device takes no slow path for large arguments, which needs local memory.
MPT_DEVICE Turn turned_by(float part) {
#ifdef MPT_HOST_TWIN
    const double angle = 6.283185307179586 * static_cast<double>(part);
    return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
#else
    Turn turn;
    sincospif(2 * part, &turn.sine, &turn.cosine);
    return turn;
#endif
}

// `count` values that lie together; loads and stores move 16 bytes each, or fewer if there are fewer.
template <typename T, int count>
struct Pack {
    static constexpr int kBytes = count * static_cast<int>(sizeof(T));
    static constexpr int kAlignment = kBytes >= 16 ? 16 : kBytes;
    struct alignas(kAlignment) Raw {
        T values[count];
    };
};
#ifndef MPT_HOST_TWIN
template <int bytes>
struct Word;
template <>
struct Word<16> {
    using Type = uint4;
};
template <>
struct Word<8> {
    using Type = uint2;
};
template <>
struct Word<4> {
    using Type = unsigned;
};
template <>
struct Word<2> {
    using Type = unsigned short;
};
template <>
struct Word<1> {
    using Type = unsigned char;
};
#endif

template <int count, typename T>
MPT_DEVICE void load(const T* from, float (&to)[count]) {
#ifdef MPT_HOST_TWIN
    emulator::check_aligned(from, Pack<T, count>::kAlignment);
    for (int i = 0; i < count; ++i) to[i] = widen(from[i]);
#else
    typename Pack<T, count>::Raw raw;
    constexpr int kWord = Pack<T, count>::kAlignment;
    using W = typename Word<kWord>::Type;
    MPT_UNROLL
    for (int i = 0; i < Pack<T, count>::kBytes / kWord; ++i)
        reinterpret_cast<W*>(&raw)[i] = reinterpret_cast<const W*>(from)[i];
    MPT_UNROLL
    for (int i = 0; i < count; ++i) to[i] = widen(raw.values[i]);
#endif
}

template <int count, typename T>
MPT_DEVICE void store(T* to, const float (&from)[count]) {
#ifdef MPT_HOST_TWIN
    emulator::check_aligned(to, Pack<T, count>::kAlignment);
    for (int i = 0; i < count; ++i) to[i] = narrow<T>(from[i]);
#else
    typename Pack<T, count>::Raw raw;
    constexpr int kWord = Pack<T, count>::kAlignment;
    using W = typename Word<kWord>::Type;
    MPT_UNROLL
    for (int i = 0; i < count; ++i) raw.values[i] = narrow<T>(from[i]);
    MPT_UNROLL
    for (int i = 0; i < Pack<T, count>::kBytes / kWord; ++i)
        reinterpret_cast<W*>(to)[i] = reinterpret_cast<const W*>(&raw)[i];
#endif
}

// Elements of 16 bytes of the narrowest of the types.
template <typename... T>
constexpr int kPerPack = static_cast<int>(16 / std::min({sizeof(T)...}));

inline constexpr int kLanes = 32;

// The sum over the `width` lanes (a power of two up to 32) that share the upper bits of the lane's number;
// every lane gets it.
template <int width = kLanes, typename T>
MPT_DEVICE T sum_lanes(T value) {
    MPT_UNROLL
    for (int mask = width / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
    return value;
}
template <int width = kLanes, typename T>
MPT_DEVICE T greatest_of_lanes(T value) {
    MPT_UNROLL
    for (int mask = width / 2; mask > 0; mask /= 2) {
        const T other = shuffle_xor(value, mask);
        value = other > value || other != other ? other : value;
    }
    return value;
}

// Over a whole block of `threads` threads, a multiple of 32; every thread gets it. May be called again.
template <int threads, typename T>
MPT_DEVICE T sum_block(T value) {
    static_assert(threads % kLanes == 0 && threads <= 1024);
    constexpr int kWarps = threads / kLanes;
    value = sum_lanes(value);
    if constexpr (kWarps > 1) {
        MPT_SHARED(T, of_warp, kWarps);
        sync_block();
        if (thread_index() % kLanes == 0) of_warp.put(thread_index() / kLanes, value);
        sync_block();
        value = of_warp.get(0);
        for (int w = 1; w < kWarps; ++w) value += of_warp.get(w);
    }
    return value;
}
template <int threads, typename T>
MPT_DEVICE T greatest_of_block(T value) {
    constexpr int kWarps = threads / kLanes;
    value = greatest_of_lanes(value);
    if constexpr (kWarps > 1) {
        MPT_SHARED(T, of_warp, kWarps);
        sync_block();
        if (thread_index() % kLanes == 0) of_warp.put(thread_index() / kLanes, value);
        sync_block();
        value = of_warp.get(0);
        for (int w = 1; w < kWarps; ++w) {
            const T other = of_warp.get(w);
            value = other > value || other != other ? other : value;
        }
    }
    return value;
}

// Calls body(T{}) with the storage type.
template <typename Body>
void with_storage(DType dtype, const Body& body) {
    switch (dtype) {
        case DType::f16:
            return body(f16{});
        case DType::bf16:
            return body(bf16{});
        default:
            return body(float{});
    }
}

// Calls body(pack) as an integral constant: `most` where that divides the length of a row, otherwise 1.
template <int most, typename Body>
void with_pack(std::int64_t length, const Body& body) {
    if (length % most == 0)
        body(std::integral_constant<int, most>{});
    else
        body(std::integral_constant<int, 1>{});
}

constexpr std::int64_t blocks_for(std::int64_t items, std::int64_t per_block) {
    return (items + per_block - 1) / per_block;
}
// Enough blocks to fill the device, and no more than there is work for.
inline std::int64_t blocks_for(const Device& device, std::int64_t items, std::int64_t per_block) {
    const std::int64_t most = std::int64_t{device.info().num_sms} * 16;
    return std::max<std::int64_t>(1, std::min(most, blocks_for(items, per_block)));
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
