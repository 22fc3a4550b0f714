// fp8 inside kernels: two numbers at a time are rounded by the device's own instruction (from compute
// capability 8.9 on; before it, and on the twin, by its definition).
#pragma once

#include <cfloat>
#include <cstring>

#include "backends/cuda/device_math.h"
#include "core/float_formats.h"

#ifndef MPT_HOST_TWIN
#include <cuda_fp8.h>
#endif

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

MPT_DEVICE float widen(e4m3 value) {
    return e4m3_value(value.bits);
}
MPT_DEVICE float widen(e5m2 value) {
    return e5m2_value(value.bits);
}

// Bits of both, of `low` in the lower byte. Saturates; what is not finite becomes NaN.
template <typename Q>
MPT_DEVICE std::uint32_t fp8_pair(float low, float high) {
#ifdef MPT_HOST_TWIN
    return static_cast<std::uint32_t>(Q(low).bits) | static_cast<std::uint32_t>(Q(high).bits) << 8;
#else
    constexpr __nv_fp8_interpretation_t kKind = std::is_same_v<Q, e4m3> ? __NV_E4M3 : __NV_E5M2;
    const std::uint32_t bits = __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, kKind);
    const std::uint32_t of_low = fabsf(low) <= FLT_MAX ? bits & 0xffu : kFp8Nan;
    const std::uint32_t of_high = fabsf(high) <= FLT_MAX ? bits >> 8 : kFp8Nan;
    return of_low | of_high << 8;
#endif
}

// Sixteen bytes to an address that is a multiple of sixteen.
MPT_DEVICE void store_words(void* to, const std::uint32_t (&words)[4]) {
#ifdef MPT_HOST_TWIN
    std::memcpy(to, words, sizeof words);
#else
    *static_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
#endif
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
