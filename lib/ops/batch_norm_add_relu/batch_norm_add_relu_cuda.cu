#include "backends/cuda/column_sums.h"
#include "ops/batch_norm/batch_norm_library_cuda.h"
#include "ops/batch_norm_add_relu/batch_norm_add_relu.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

namespace in = batch_norm_add_relu_input;
namespace out = batch_norm_add_relu_output;

constexpr int kThreads = 128;

MPT_DEVICE double wide(float value) {
    return static_cast<double>(value);
}

// Of sums of x less the first row's value: squares of values far from zero would cancel.
template <typename T>
struct Fold {
    const T* x;
    const float *gamma, *beta;
    float *scale, *shift, *mean, *rstd;
    double count, epsilon;
    MPT_DEVICE void operator()(std::int64_t c, const double (&sums)[2]) const {
        const double away = sums[0] / count;
        const double variance = sums[1] / count - away * away;
        const double r = 1 / std::sqrt((variance < 0 ? 0.0 : variance) + epsilon);
        const double m = wide(gpu::widen(x[c])) + away;
        mean[c] = static_cast<float>(m);
        rstd[c] = static_cast<float>(r);
        scale[c] = static_cast<float>(wide(gamma[c]) * r);
        shift[c] = static_cast<float>(wide(beta[c]) - m * wide(gamma[c]) * r);
    }
};

// NaN stays NaN, as in relu.
MPT_DEVICE float activated(float value, bool relu) {
    return relu && value < 0 ? 0.0f : value;
}

struct Apply {
    static constexpr int kVectors = 2;
    const float* vectors[kVectors];
    bool relu;
    MPT_DEVICE float operator()(const float (&v)[2], float x) const {
        return activated(x * v[0] + v[1], relu);
    }
    MPT_DEVICE float operator()(const float (&v)[2], float x, float addend) const {
        return activated(x * v[0] + v[1] + addend, relu);
    }
};

void run(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<BatchNormAddReluAttributes>();
    const std::int64_t channels = s.in(in::kX).shape[-1], rows = gpu::elements_of(s) / channels;
    float *scale = a.out<float>(out::kScale), *shift = a.out<float>(out::kShift);
    gpu::with_storage(s.in(in::kX).dtype, [&]<typename T>(T) {
        const T* x = a.in<T>(in::kX);
        const Fold<T> fold{x,
                           a.in<float>(in::kGamma),
                           a.in<float>(in::kBeta),
                           scale,
                           shift,
                           a.out<float>(out::kMean),
                           a.out<float>(out::kRstd),
                           static_cast<double>(rows),
                           attributes.epsilon};
        gpu::column_sums(*s.device, rows, channels, gpu::MomentsFromFirst<T>{x}, fold, a.workspace,
                         static_cast<float*>(nullptr), x);
        const Apply apply{{scale, shift}, attributes.relu};
        if (s.has(in::kAddend))
            gpu::map_channels(*s.device, gpu::elements_of(s), channels, apply, a.out<T>(out::kY), x,
                              a.in<T>(in::kAddend));
        else
            gpu::map_channels(*s.device, gpu::elements_of(s), channels, apply, a.out<T>(out::kY), x);
    });
}

std::size_t workspace_bytes(const gpu::Call& s) {
    const std::int64_t channels = s.in(in::kX).shape[-1];
    return gpu::column_sums_bytes(*s.device, gpu::elements_of(s) / channels, channels, 2);
}

std::string refusal(const Signature& s) {
    return s.has(in::kAddend) && s.in(in::kAddend).dtype != s.in(in::kX).dtype ? "needs one type of data"
                                                                               : gpu::refusal(s);
}

MPT_KERNEL(kThreads)
void vectors_kernel(std::int64_t channels, const float* gamma, const float* beta, const float* mean,
                    const float* rstd, float* scale, float* shift) {
    const std::int64_t c = gpu::block_index() * kThreads + gpu::thread_index();
    if (c >= channels) return;
    const double factor = wide(gamma[c]) * wide(rstd[c]);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(wide(beta[c]) - wide(mean[c]) * factor);
}

gpu::Planned<gpu::NormArgs> plan_library(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& attributes = s.attributes.as<BatchNormAddReluAttributes>();
    gpu::NormSpec spec = gpu::norm_of(s.in(in::kX));
    spec.add = s.has(in::kAddend), spec.relu = attributes.relu, spec.epsilon = attributes.epsilon;
    const auto own = [s](const gpu::NormArgs& a) {
        const auto plain = [](const void* data) { return const_cast<void*>(data); };
        void* const inputs[] = {plain(a.x), plain(a.gamma), plain(a.beta), plain(a.addend)};
        void* const outputs[] = {a.result, a.scale, a.shift, a.mean, a.rstd};
        run(s, {inputs, outputs, a.workspace});
    };
    return s.device->plan_norm(spec, {own, workspace_bytes(s)});
}

std::string library_refusal(const Signature& s) {
    const std::string why = refusal(s);
    if (!why.empty()) return why;
    return gpu::current_device() == nullptr ? "needs a device" : plan_library(s).refusal;
}

PreparedKernel prepare_library(const Signature& signature) {
    const gpu::Call s(signature);
    const gpu::Planned<gpu::NormArgs> plan = plan_library(s);
    return {
        [s, plan](const KernelArgs& a) {
            gpu::NormArgs args;
            args.x = a.inputs[in::kX];
            args.gamma = a.in<float>(in::kGamma), args.beta = a.in<float>(in::kBeta);
            if (s.has(in::kAddend)) args.addend = a.inputs[in::kAddend];
            args.result = a.outputs[out::kY];
            args.mean = a.out<float>(out::kMean), args.rstd = a.out<float>(out::kRstd);
            args.workspace = a.workspace;
            plan.run(args);
            const std::int64_t channels = s.in(in::kX).shape[-1];
            gpu::launch(
                *s.device,
                {.blocks = gpu::blocks_for(channels, kThreads), .threads = kThreads, .threads_meet = false},
                vectors_kernel, channels, args.gamma, args.beta, args.mean, args.rstd,
                a.out<float>(out::kScale), a.out<float>(out::kShift));
        },
        plan.workspace_bytes, plan.description};
}

}  // namespace

MPT_REGISTER_CUDA(batch_norm_add_relu)(KernelTable& table) {
    table.add({batch_norm_add_relu_op.name, "cudnn", library_refusal, prepare_library});
    Kernel own = gpu::kernel<run, workspace_bytes>(batch_norm_add_relu_op, refusal);
    own.name = "own";
    table.add(own);
}

}  // namespace mpt
