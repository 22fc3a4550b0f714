// Direct convolutions of our own, one result a thread, with what fused ops put before and behind the
// products: the fallback where cuDNN has no plan (bf16 on sm_75, a fused form it does not know), and its
// oracle. For
// *_cuda.cu files only.
#pragma once

#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

struct OwnConv {
    std::int64_t n, h, w, c, k, r, s, p, q, stride, pad;
};

// relu?(scale * x + shift), or x where `scale` is null; f32, not rounded.
template <typename T>
struct ConvInput {
    const T* x;
    const float *scale, *shift;
    bool relu;
    MPT_DEVICE float at(std::int64_t i, std::int64_t channel) const {
        const float value = scale == nullptr ? widen(x[i]) : widen(x[i]) * scale[channel] + shift[channel];
        return relu && value < 0 ? 0.0f : value;
    }
};

// a * g + b * y + c a channel, or g where `a` is null.
template <typename T>
struct ConvGradient {
    const T *g, *y;
    const float *a, *b, *c;
    MPT_DEVICE float at(std::int64_t i, std::int64_t channel) const {
        const float value = widen(g[i]);
        return a == nullptr ? value : a[channel] * value + b[channel] * widen(y[i]) + c[channel];
    }
};

template <typename T>
MPT_KERNEL(256)
void own_forward_kernel(OwnConv v, ConvInput<T> x, const T* weights, T* y) {
    const std::int64_t i = block_index() * 256 + thread_index();
    if (i >= v.n * v.p * v.q * v.k) return;
    const std::int64_t k = i % v.k, q = i / v.k % v.q, p = i / (v.k * v.q) % v.p, n = i / (v.k * v.q * v.p);
    float sum = 0;
    for (std::int64_t r = 0; r < v.r; ++r)
        for (std::int64_t s = 0; s < v.s; ++s) {
            const std::int64_t h = p * v.stride - v.pad + r, w = q * v.stride - v.pad + s;
            if (h < 0 || h >= v.h || w < 0 || w >= v.w) continue;
            const std::int64_t from = ((n * v.h + h) * v.w + w) * v.c, tap = ((k * v.r + r) * v.s + s) * v.c;
            for (std::int64_t c = 0; c < v.c; ++c) sum += x.at(from + c, c) * widen(weights[tap + c]);
        }
    y[i] = narrow<T>(sum);
}

// addend (or null) is added; the result is 0 where `mask` is given and its value is not positive.
template <typename T>
MPT_KERNEL(256)
void own_data_kernel(OwnConv v, ConvGradient<T> g, const T* weights, const T* addend, ConvInput<T> mask,
                     bool masked, T* grad_x) {
    const std::int64_t i = block_index() * 256 + thread_index();
    if (i >= v.n * v.h * v.w * v.c) return;
    const std::int64_t c = i % v.c, w = i / v.c % v.w, h = i / (v.c * v.w) % v.h, n = i / (v.c * v.w * v.h);
    float sum = 0;
    for (std::int64_t r = 0; r < v.r; ++r)
        for (std::int64_t s = 0; s < v.s; ++s) {
            const std::int64_t down = h + v.pad - r, right = w + v.pad - s;
            if (down < 0 || right < 0 || down % v.stride != 0 || right % v.stride != 0) continue;
            const std::int64_t p = down / v.stride, q = right / v.stride;
            if (p >= v.p || q >= v.q) continue;
            const std::int64_t from = ((n * v.p + p) * v.q + q) * v.k;
            for (std::int64_t k = 0; k < v.k; ++k)
                sum += g.at(from + k, k) * widen(weights[((k * v.r + r) * v.s + s) * v.c + c]);
        }
    if (addend != nullptr) sum += widen(addend[i]);
    if (masked && !(mask.at(i, c) > 0)) sum = 0;
    grad_x[i] = narrow<T>(sum);
}

// A block for each weight; `before` (or null) is what the gradient is added to.
template <typename T>
MPT_KERNEL(kRowThreads)
void own_weight_kernel(OwnConv v, ConvGradient<T> g, ConvInput<T> x, const float* before, float* grad_w) {
    const std::int64_t i = block_index();
    const std::int64_t c = i % v.c, s = i / v.c % v.s, r = i / (v.c * v.s) % v.r, k = i / (v.c * v.s * v.r);
    float sum = 0;
    for (std::int64_t pixel = thread_index(); pixel < v.n * v.p * v.q; pixel += kRowThreads) {
        const std::int64_t q = pixel % v.q, p = pixel / v.q % v.p, n = pixel / (v.q * v.p);
        const std::int64_t h = p * v.stride - v.pad + r, w = q * v.stride - v.pad + s;
        if (h < 0 || h >= v.h || w < 0 || w >= v.w) continue;
        sum += g.at(pixel * v.k + k, k) * x.at(((n * v.h + h) * v.w + w) * v.c + c, c);
    }
    sum = sum_block<kRowThreads>(sum);
    if (thread_index() == 0) grad_w[i] = (before == nullptr ? 0.0f : before[i]) + sum;
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu
