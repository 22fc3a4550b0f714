#include "backends/cuda/column_sums.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/batch_norm_library_cuda.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

template <typename T>
struct Statistics {
    const T* x;
    const float* gamma;
    float *mean, *rstd, *factor;
    double count, epsilon;
    MPT_DEVICE void operator()(std::int64_t c, const double (&sums)[2]) const {
        const double away = sums[0] / count;
        const double variance = sums[1] / count - away * away;
        const double r = 1 / std::sqrt((variance < 0 ? 0.0 : variance) + epsilon);
        mean[c] = static_cast<float>(static_cast<double>(gpu::widen(x[c])) + away);
        rstd[c] = static_cast<float>(r);
        factor[c] = static_cast<float>(static_cast<double>(gamma[c]) * r);
    }
};

struct Apply {
    static constexpr int kVectors = 3;  // mean, gamma * rstd, beta
    const float* vectors[kVectors];
    MPT_DEVICE float operator()(const float (&v)[3], float x) const { return (x - v[0]) * v[1] + v[2]; }
};

std::size_t sums_bytes(const gpu::Call& s) {
    const std::int64_t channels = s.in(0).shape[-1];
    return gpu::column_sums_bytes(*s.device, s.in(0).shape.num_elements() / channels, channels, 2);
}
// Then vectors of a channel, at a multiple of 256 bytes.
std::size_t vectors_at(const gpu::Call& s) {
    return (sums_bytes(s) + 255) / 256 * 256;
}
std::size_t vector_bytes(const gpu::Call& s) {
    return (static_cast<std::size_t>(s.in(0).shape[-1]) * sizeof(float) + 255) / 256 * 256;
}
float* vector_of(const gpu::Call& s, const KernelArgs& a, std::size_t index) {
    auto* bytes = static_cast<std::byte*>(a.workspace) + vectors_at(s) + index * vector_bytes(s);
    return reinterpret_cast<float*>(bytes);
}
template <int vectors>
std::size_t workspace_bytes(const gpu::Call& s) {
    return vectors_at(s) + vectors * vector_bytes(s);
}

void run_batch_norm(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t channels = s.in(0).shape[-1], rows = gpu::elements_of(s) / channels;
    float* factor = vector_of(s, a, 0);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = a.in<T>(0);
        const Statistics<T> finish{x,
                                   a.in<float>(1),
                                   a.out<float>(1),
                                   a.out<float>(2),
                                   factor,
                                   static_cast<double>(rows),
                                   s.attributes.as<BatchNormAttributes>().epsilon};
        gpu::column_sums(*s.device, rows, channels, gpu::MomentsFromFirst<T>{x}, finish, a.workspace,
                         static_cast<float*>(nullptr), x);
        gpu::map_channels(*s.device, gpu::elements_of(s), channels,
                          Apply{{a.out<float>(1), factor, a.in<float>(2)}}, a.out<T>(0), x);
    });
}

struct GradientSums {
    static constexpr int kTerms = 2;
    static constexpr bool kStores = false;
    struct Column {
        float mean, rstd;
    };
    const float *mean, *rstd;
    MPT_DEVICE Column column(std::int64_t c) const { return {mean[c], rstd[c]}; }
    MPT_DEVICE float operator()(std::int64_t, const Column& of, float (&terms)[2], float grad_y,
                                float x) const {
        terms[0] = grad_y;
        terms[1] = grad_y * ((x - of.mean) * of.rstd);
        return 0;
    }
};

struct GradientVectors {
    const float *gamma, *rstd;
    float *grad_gamma, *grad_beta, *factor, *average, *slope;
    double count;
    MPT_DEVICE void operator()(std::int64_t c, const double (&sums)[2]) const {
        grad_beta[c] = static_cast<float>(sums[0]);
        grad_gamma[c] = static_cast<float>(sums[1]);
        factor[c] = gamma[c] * rstd[c];
        average[c] = static_cast<float>(sums[0] / count);
        slope[c] = static_cast<float>(sums[1] / count * static_cast<double>(rstd[c]));
    }
};

struct ApplyGradient {
    static constexpr int kVectors =
        4;  // mean, gamma * rstd, average of grad_y, average of grad_y xhat * rstd
    const float* vectors[kVectors];
    MPT_DEVICE float operator()(const float (&v)[4], float grad_y, float x) const {
        return v[1] * (grad_y - v[2] - (x - v[0]) * v[3]);
    }
};

void run_batch_norm_backward(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t channels = s.in(0).shape[-1], rows = gpu::elements_of(s) / channels;
    float *factor = vector_of(s, a, 0), *average = vector_of(s, a, 1), *slope = vector_of(s, a, 2);
    const float *mean = a.in<float>(3), *rstd = a.in<float>(4);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const GradientVectors finish{a.in<float>(2), rstd,    a.out<float>(1), a.out<float>(2),
                                     factor,         average, slope,           static_cast<double>(rows)};
        gpu::column_sums(*s.device, rows, channels, GradientSums{mean, rstd}, finish, a.workspace,
                         static_cast<float*>(nullptr), a.in<T>(0), a.in<T>(1));
        gpu::map_channels(*s.device, gpu::elements_of(s), channels,
                          ApplyGradient{{mean, factor, average, slope}}, a.out<T>(0), a.in<T>(0), a.in<T>(1));
    });
}

struct ApplyRunning {
    static constexpr int kVectors = 4;  // gamma, beta, mean, variance
    const float* vectors[kVectors];
    float epsilon;
    MPT_DEVICE float operator()(const float (&v)[4], float x) const {
        return v[0] * (x - v[2]) / std::sqrt(v[3] + epsilon) + v[1];
    }
};

void run_batch_norm_inference(const gpu::Call& s, const KernelArgs& a) {
    const ApplyRunning f{{a.in<float>(1), a.in<float>(2), a.in<float>(3), a.in<float>(4)},
                         static_cast<float>(s.attributes.as<BatchNormAttributes>().epsilon)};
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map_channels(*s.device, gpu::elements_of(s), s.in(0).shape[-1], f, a.out<T>(0), a.in<T>(0));
    });
}

MPT_KERNEL(256)
void running_statistics_kernel(RunningStatisticsAttributes attributes, std::int64_t channels,
                               const float* old_mean, const float* old_variance, const float* mean,
                               const float* rstd, float* new_mean, float* new_variance) {
    const std::int64_t c = gpu::block_index() * 256 + gpu::thread_index();
    if (c >= channels) return;
    const double r = static_cast<double>(rstd[c]), count = static_cast<double>(attributes.count);
    const double spread = 1 / (r * r) - attributes.epsilon;
    // Not a maximum: NaN must stay NaN.
    const double biased = spread < 0 ? 0.0 : spread;
    const double unbiased = biased * count / (count > 2 ? count - 1 : 1.0);
    // A batch that overflowed must not spoil the running values for good.
    const bool usable = std::isfinite(mean[c]) && std::isfinite(unbiased);
    const double m = attributes.momentum;
    const double kept_mean = static_cast<double>(old_mean[c]),
                 kept_variance = static_cast<double>(old_variance[c]);
    new_mean[c] =
        usable ? static_cast<float>((1 - m) * kept_mean + m * static_cast<double>(mean[c])) : old_mean[c];
    new_variance[c] = usable ? static_cast<float>((1 - m) * kept_variance + m * unbiased) : old_variance[c];
}

void run_running_statistics(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t channels = gpu::elements_of(s);
    gpu::launch(*s.device, {.blocks = gpu::blocks_for(channels, 256), .threads_meet = false},
                running_statistics_kernel, s.attributes.as<RunningStatisticsAttributes>(), channels,
                a.in<float>(0), a.in<float>(1), a.in<float>(2), a.in<float>(3), a.out<float>(0),
                a.out<float>(1));
}

gpu::Planned<gpu::NormArgs> plan_library(const Signature& signature) {
    const gpu::Call s(signature);
    gpu::NormSpec spec = gpu::norm_of(s.in(0));
    spec.backward = true;
    const auto own = [s](const gpu::NormArgs& a) {
        const auto plain = [](const void* data) { return const_cast<void*>(data); };
        void* const inputs[] = {plain(a.grad_y), plain(a.x), plain(a.gamma), a.mean, a.rstd};
        void* const outputs[] = {a.result, a.grad_gamma, a.grad_beta};
        run_batch_norm_backward(s, {inputs, outputs, a.workspace});
    };
    return s.device->plan_norm(spec, {own, workspace_bytes<3>(s)});
}

std::string library_refusal(const Signature& s) {
    const std::string why = gpu::refusal_unless_same<0, 1>(s);
    if (!why.empty()) return why;
    return gpu::current_device() == nullptr ? "needs a device" : plan_library(s).refusal;
}

PreparedKernel prepare_library(const Signature& s) {
    const gpu::Planned<gpu::NormArgs> plan = plan_library(s);
    return {[plan](const KernelArgs& a) {
                gpu::NormArgs args;
                args.grad_y = a.inputs[0], args.x = a.inputs[1], args.gamma = a.in<float>(2);
                args.mean = static_cast<float*>(a.inputs[3]);
                args.rstd = static_cast<float*>(a.inputs[4]);
                args.result = a.outputs[0];
                args.grad_gamma = a.out<float>(1), args.grad_beta = a.out<float>(2);
                args.workspace = a.workspace;
                plan.run(args);
            },
            plan.workspace_bytes, plan.description};
}

}  // namespace

MPT_REGISTER_CUDA(batch_norm)(KernelTable& table) {
    // The plain ops are asked before they are split and their sums move into convolutions: no time for cuDNN.
    table.add({batch_norm_backward_fused_op.name, "cudnn", library_refusal, prepare_library});
    Kernel own = gpu::kernel<run_batch_norm_backward, workspace_bytes<3>>(batch_norm_backward_fused_op,
                                                                          gpu::refusal_unless_same<0, 1>);
    own.name = "own";
    table.add(own);
    table.add(gpu::kernel<run_batch_norm, workspace_bytes<1>>(batch_norm_op));
    table.add(gpu::kernel<run_batch_norm_backward, workspace_bytes<3>>(batch_norm_backward_op,
                                                                       gpu::refusal_unless_same<0, 1>));
    table.add(gpu::kernel<run_batch_norm_inference>(batch_norm_inference_op));
    table.add(gpu::kernel<run_running_statistics>(running_statistics_op));
}

}  // namespace mpt
