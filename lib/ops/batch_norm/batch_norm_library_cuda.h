// Batch norms by the device's library (cuDNN). For *_cuda.cu files only.
#pragma once

#include "ops/cuda_kernel.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

// Sums of x less the first row's value: squares of values far from zero would cancel.
template <typename T>
struct MomentsFromFirst {
    static constexpr int kTerms = 2;
    static constexpr bool kStores = false;
    struct Column {
        float origin;
    };
    const T* x;
    MPT_DEVICE Column column(std::int64_t c) const { return {widen(x[c])}; }
    MPT_DEVICE float operator()(std::int64_t, const Column& of, float (&terms)[2], float value) const {
        const float d = value - of.origin;
        terms[0] = d;
        terms[1] = d * d;
        return 0;
    }
};

// A norm of such data as a library sees it.
inline NormSpec norm_of(const TensorType& x) {
    NormSpec spec;
    const bool image = x.shape.rank() == 4;
    spec.c = x.shape[-1], spec.dtype = x.dtype;
    spec.n = image ? x.shape[0] : x.shape.num_elements() / spec.c;
    if (image) spec.h = x.shape[1], spec.w = x.shape[2];
    return spec;
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
