// Elements of the host's library calls by their type.
#pragma once

#include "core/dtype.h"
#include "core/float_formats.h"

namespace mpt::gpu {

inline float value_at(const void* data, DType dtype, std::size_t index) {
    if (dtype == DType::f16) return static_cast<float>(static_cast<const f16*>(data)[index]);
    if (dtype == DType::bf16) return static_cast<float>(static_cast<const bf16*>(data)[index]);
    if (dtype == DType::e4m3) return static_cast<float>(static_cast<const e4m3*>(data)[index]);
    if (dtype == DType::e5m2) return static_cast<float>(static_cast<const e5m2*>(data)[index]);
    return static_cast<const float*>(data)[index];
}

inline void store_at(void* data, DType dtype, std::size_t index, float value) {
    if (dtype == DType::f16)
        static_cast<f16*>(data)[index] = f16(value);
    else if (dtype == DType::bf16)
        static_cast<bf16*>(data)[index] = bf16(value);
    else
        static_cast<float*>(data)[index] = value;
}

}  // namespace mpt::gpu
