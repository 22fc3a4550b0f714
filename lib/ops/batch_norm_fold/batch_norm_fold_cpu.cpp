// The reference's formulas on f32 vectors, in f64.
#include <cmath>

#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

double wide(float value) {
    return static_cast<double>(value);
}

void run(const Signature& s, const KernelArgs& k) {
    const auto& attributes = s.attributes.as<BatchNormFoldAttributes>();
    const std::int64_t channels = s.in(1).shape[0];
    const double share = 1 / static_cast<double>(attributes.count);
    const float* sums = k.in<float>(0);
    const float* gamma = k.in<float>(1);
    const float* beta = k.in<float>(2);
    for (std::int64_t c = 0; c < channels; ++c) {
        const double mean = wide(sums[c]) * share;
        const double variance = wide(sums[channels + c]) * share - mean * mean;
        const double rstd = 1 / std::sqrt((variance < 0 ? 0.0 : variance) + attributes.epsilon);
        const double scale = wide(gamma[c]) * rstd;
        k.out<float>(0)[c] = static_cast<float>(scale);
        k.out<float>(1)[c] = static_cast<float>(wide(beta[c]) - mean * scale);
        k.out<float>(2)[c] = static_cast<float>(mean);
        k.out<float>(3)[c] = static_cast<float>(rstd);
    }
}

void run_inference(const Signature& s, const KernelArgs& k) {
    const double epsilon = s.attributes.as<BatchNormInferenceFoldAttributes>().epsilon;
    for (std::int64_t c = 0; c < s.in(0).shape[0]; ++c) {
        const double scale = wide(k.in<float>(0)[c]) / std::sqrt(wide(k.in<float>(3)[c]) + epsilon);
        k.out<float>(0)[c] = static_cast<float>(scale);
        k.out<float>(1)[c] = static_cast<float>(wide(k.in<float>(1)[c]) - wide(k.in<float>(2)[c]) * scale);
    }
}

void run_backward(const Signature& s, const KernelArgs& k) {
    const auto& attributes = s.attributes.as<BatchNormBackwardFoldAttributes>();
    const std::int64_t channels = s.in(1).shape[0];
    const double share = 1 / static_cast<double>(attributes.count);
    const float* sum_g = k.in<float>(0);
    const float* sum_gx = sum_g + attributes.row * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
        const double mean = wide(k.in<float>(2)[c]), rstd = wide(k.in<float>(3)[c]);
        const double grad_gamma = rstd * (wide(sum_gx[c]) - mean * wide(sum_g[c]));
        const double a = wide(k.in<float>(1)[c]) * rstd;
        const double b = -a * rstd * grad_gamma * share;
        k.out<float>(0)[c] = static_cast<float>(grad_gamma);
        k.out<float>(1)[c] = sum_g[c];
        k.out<float>(2)[c] = static_cast<float>(a);
        k.out<float>(3)[c] = static_cast<float>(b);
        k.out<float>(4)[c] = static_cast<float>(-a * wide(sum_g[c]) * share - b * mean);
    }
}

}  // namespace

void register_batch_norm_fold_cpu(KernelTable& table) {
    table.add(simd::kernel<run>(batch_norm_fold_op));
    table.add(simd::kernel<run_inference>(batch_norm_inference_fold_op));
    table.add(simd::kernel<run_backward>(batch_norm_backward_fold_op));
}

}  // namespace mpt
