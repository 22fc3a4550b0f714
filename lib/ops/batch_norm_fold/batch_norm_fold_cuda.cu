#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

constexpr int kThreads = 128;

MPT_DEVICE double wide(float value) {
    return static_cast<double>(value);
}

struct Fold {
    const float *sums, *gamma, *beta;
    float *scale, *shift, *mean, *rstd;
    double count, epsilon;
    std::int64_t channels;
    MPT_DEVICE void operator()(std::int64_t c) const {
        const double m = wide(sums[c]) / count;
        // Rounding of the sums may leave a constant channel below zero; NaN must pass.
        const double variance = wide(sums[channels + c]) / count - m * m;
        const double r = 1 / std::sqrt((variance < 0 ? 0.0 : variance) + epsilon);
        mean[c] = static_cast<float>(m);
        rstd[c] = static_cast<float>(r);
        scale[c] = static_cast<float>(wide(gamma[c]) * r);
        shift[c] = static_cast<float>(wide(beta[c]) - m * wide(gamma[c]) * r);
    }
};

struct FoldInference {
    const float *gamma, *beta, *mean, *variance;
    float *scale, *shift;
    double epsilon;
    MPT_DEVICE void operator()(std::int64_t c) const {
        const double factor = wide(gamma[c]) / std::sqrt(wide(variance[c]) + epsilon);
        scale[c] = static_cast<float>(factor);
        shift[c] = static_cast<float>(wide(beta[c]) - wide(mean[c]) * factor);
    }
};

struct FoldBackward {
    const float *sums, *products, *gamma, *mean, *rstd;
    float *grad_gamma, *grad_beta, *a, *b, *c;
    double count;
    MPT_DEVICE void operator()(std::int64_t i) const {
        const double sum = wide(sums[i]), r = wide(rstd[i]);
        const double slope = r * (wide(products[i]) - wide(mean[i]) * sum);
        const double factor = wide(gamma[i]) * r;
        const double of_x = -factor * r * slope / count;
        grad_gamma[i] = static_cast<float>(slope);
        grad_beta[i] = static_cast<float>(sum);
        a[i] = static_cast<float>(factor);
        b[i] = static_cast<float>(of_x);
        c[i] = static_cast<float>(-factor * sum / count - of_x * wide(mean[i]));
    }
};

template <typename F>
MPT_KERNEL(kThreads)
void channels_kernel(F f, std::int64_t channels) {
    const std::int64_t c = gpu::block_index() * kThreads + gpu::thread_index();
    if (c < channels) f(c);
}

template <typename F>
void for_channels(const gpu::Call& s, std::int64_t channels, const F& f) {
    gpu::launch(*s.device,
                {.blocks = gpu::blocks_for(channels, kThreads), .threads = kThreads, .threads_meet = false},
                channels_kernel<F>, f, channels);
}

void run_fold(const gpu::Call& s, const KernelArgs& k) {
    const auto& attributes = s.attributes.as<BatchNormFoldAttributes>();
    const std::int64_t channels = s.in(1).shape.num_elements();
    for_channels(s, channels,
                 Fold{k.in<float>(0), k.in<float>(1), k.in<float>(2), k.out<float>(0), k.out<float>(1),
                      k.out<float>(2), k.out<float>(3), static_cast<double>(attributes.count),
                      attributes.epsilon, channels});
}

void run_inference(const gpu::Call& s, const KernelArgs& k) {
    for_channels(
        s, s.in(0).shape.num_elements(),
        FoldInference{k.in<float>(0), k.in<float>(1), k.in<float>(2), k.in<float>(3), k.out<float>(0),
                      k.out<float>(1), s.attributes.as<BatchNormInferenceFoldAttributes>().epsilon});
}

void run_backward(const gpu::Call& s, const KernelArgs& k) {
    const auto& attributes = s.attributes.as<BatchNormBackwardFoldAttributes>();
    const std::int64_t channels = s.in(1).shape.num_elements();
    const float* sums = k.in<float>(0);
    for_channels(s, channels,
                 FoldBackward{sums, sums + attributes.row * channels, k.in<float>(1), k.in<float>(2),
                              k.in<float>(3), k.out<float>(0), k.out<float>(1), k.out<float>(2),
                              k.out<float>(3), k.out<float>(4), static_cast<double>(attributes.count)});
}

}  // namespace

MPT_REGISTER_CUDA(batch_norm_fold)(KernelTable& table) {
    table.add(gpu::kernel<run_fold>(batch_norm_fold_op));
    table.add(gpu::kernel<run_inference>(batch_norm_inference_fold_op));
    table.add(gpu::kernel<run_backward>(batch_norm_backward_fold_op));
}

}  // namespace mpt
