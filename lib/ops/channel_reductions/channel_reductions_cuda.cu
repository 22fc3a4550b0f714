#include "backends/cuda/column_sums.h"
#include "ops/channel_reductions/channel_reductions.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

namespace in = relu_backward_reductions_input;

// The gradient behind a relu, stored, and its sums. `scale` is null where the activation is x itself.
template <int references>
struct Masked {
    static constexpr int kTerms = 1 + references;
    static constexpr bool kStores = true;
    struct Column {
        float scale, shift;
    };
    const float *scale, *shift;
    MPT_DEVICE Column column(std::int64_t c) const {
        return scale == nullptr ? Column{1, 0} : Column{scale[c], shift[c]};
    }
    template <typename... R>
    MPT_DEVICE float operator()(std::int64_t, const Column& of, float (&terms)[kTerms], float g, float x,
                                R... reference) const {
        const float activation = scale == nullptr ? x : x * of.scale + of.shift;
        const float grad = activation > 0 ? g : 0.0f;
        terms[0] = grad;
        int t = 1;
        ((terms[t++] = grad * reference), ...);
        return grad;
    }
};

struct Combine {
    static constexpr int kVectors = 3;
    const float* vectors[kVectors];
    MPT_DEVICE float operator()(const float (&v)[3], float g, float x) const {
        return v[0] * g + v[1] * x + v[2];
    }
};

template <int terms>
gpu::StoreSums<terms> into(float* to, std::int64_t channels) {
    gpu::StoreSums<terms> store;
    for (int t = 0; t < terms; ++t) store.to[t] = to + t * channels;
    return store;
}

struct Extent {
    std::int64_t rows, channels;
    explicit Extent(const Shape& x) : rows(x.num_elements() / x[-1]), channels(x[-1]) {}
};

void run_statistics(const gpu::Call& s, const KernelArgs& a) {
    const Extent e(s.in(0).shape);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::column_sums(*s.device, e.rows, e.channels, gpu::SumAndSquares{},
                         into<2>(a.out<float>(0), e.channels), a.workspace, static_cast<float*>(nullptr),
                         a.in<T>(0));
    });
}

void run_reductions(const gpu::Call& s, const KernelArgs& a) {
    const Extent e(s.in(0).shape);
    const bool two = s.attributes.as<ChannelReductionsAttributes>().num_references == 2;
    float* none = nullptr;
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        if (two)
            gpu::column_sums(*s.device, e.rows, e.channels, gpu::SumAndTwoProducts{},
                             into<3>(a.out<float>(0), e.channels), a.workspace, none, a.in<T>(0), a.in<T>(1),
                             a.in<T>(2));
        else
            gpu::column_sums(*s.device, e.rows, e.channels, gpu::SumAndProduct{},
                             into<2>(a.out<float>(0), e.channels), a.workspace, none, a.in<T>(0), a.in<T>(1));
    });
}

void run_combine(const gpu::Call& s, const KernelArgs& a) {
    const Combine f{{a.in<float>(2), a.in<float>(3), a.in<float>(4)}};
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map_channels(*s.device, gpu::elements_of(s), s.in(0).shape[-1], f, a.out<T>(0), a.in<T>(0),
                          a.in<T>(1));
    });
}

void run_relu(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<ReluBackwardReductionsAttributes>();
    const Extent e(s.in(in::kG).shape);
    const float* scale = attributes.affine ? a.in<float>(in::kScale) : nullptr;
    const float* shift = attributes.affine ? a.in<float>(in::kShift) : nullptr;
    gpu::with_storage(s.in(in::kG).dtype, [&]<typename T>(T) {
        if (attributes.num_references == 2)
            gpu::column_sums(*s.device, e.rows, e.channels, Masked<2>{scale, shift},
                             into<3>(a.out<float>(1), e.channels), a.workspace, a.out<T>(0), a.in<T>(in::kG),
                             a.in<T>(in::kX), a.in<T>(in::kRef1), a.in<T>(in::kRef2));
        else
            gpu::column_sums(*s.device, e.rows, e.channels, Masked<1>{scale, shift},
                             into<2>(a.out<float>(1), e.channels), a.workspace, a.out<T>(0), a.in<T>(in::kG),
                             a.in<T>(in::kX), a.in<T>(in::kRef1));
    });
}

std::string refusal(const Signature& s) {
    // All data has the first input's type; vectors and sums are f32.
    for (std::size_t i = 0; i < s.inputs.size(); ++i)
        if (s.present[i] && s.inputs[i].shape.rank() > 1 && s.inputs[i].dtype != s.in(0).dtype)
            return "needs one type of data";
    return gpu::refusal(s);
}

std::size_t sums_bytes(const gpu::Call& s) {
    const Extent e(s.in(0).shape);
    return gpu::column_sums_bytes(*s.device, e.rows, e.channels, 3);
}

}  // namespace

MPT_REGISTER_CUDA(channel_reductions)(KernelTable& table) {
    table.add(gpu::kernel<run_statistics, sums_bytes>(channel_statistics_op, refusal));
    table.add(gpu::kernel<run_reductions, sums_bytes>(channel_reductions_op, refusal));
    table.add(gpu::kernel<run_combine>(channel_combine_op, refusal));
    table.add(gpu::kernel<run_relu, sums_bytes>(relu_backward_reductions_op, refusal));
}

}  // namespace mpt
