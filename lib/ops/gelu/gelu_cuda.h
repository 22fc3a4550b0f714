// gelu and its gradient as functions of map.h. For *_cuda.cu files only.
#pragma once

#include "backends/cuda/map.h"
#include "ops/gelu/gelu.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr float kGeluCubic = 0.044715f;
inline constexpr float kGeluRootTwoOverPi = 0.79788456f;
inline constexpr float kGeluInverseRootTwo = 0.70710678f;
inline constexpr float kGeluInverseRootTwoPi = 0.39894228f;

// (1 + tanh(u)) / 2 of the tanh form, without the cancellation of 1 + tanh.
MPT_DEVICE float gelu_gate(float x) {
    return 1 / (1 + std::exp(-2 * kGeluRootTwoOverPi * (x + kGeluCubic * x * x * x)));
}

template <GeluForm form>
struct Gelu {
    MPT_DEVICE float operator()(std::int64_t, float x) const {
        if constexpr (form == GeluForm::kExact)
            return 0.5f * x * std::erfc(-x * kGeluInverseRootTwo);
        else
            return x * gelu_gate(x);
    }
};

template <GeluForm form>
struct GeluBackward {
    MPT_DEVICE float operator()(std::int64_t, float grad_y, float x) const {
        if constexpr (form == GeluForm::kExact) {
            return grad_y * (0.5f * std::erfc(-x * kGeluInverseRootTwo) +
                             x * kGeluInverseRootTwoPi * std::exp(-0.5f * x * x));
        } else {
            // Far out the slope is 0 or 1, where the products below would be 0 times infinity.
            if (x > 10 || x < -10) return x > 0 ? grad_y : 0 * grad_y;
            const float slope = 2 * kGeluRootTwoOverPi * (1 + 3 * kGeluCubic * x * x);
            return grad_y * gelu_gate(x) * (1 + x * gelu_gate(-x) * slope);
        }
    }
};

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
