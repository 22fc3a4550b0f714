#include "ops/channel_affine/channel_affine.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

namespace in = affine_add_relu_input;

// NaN stays NaN, as in relu.
MPT_DEVICE float positive(float value) {
    return value < 0 ? 0.0f : value;
}

struct Affine {
    static constexpr int kVectors = 2;
    const float* vectors[kVectors];
    bool relu;
    MPT_DEVICE float operator()(const float (&v)[2], float x) const {
        const float y = x * v[0] + v[1];
        return relu ? positive(y) : y;
    }
};

struct AffineAdd {
    static constexpr int kVectors = 2;
    const float* vectors[kVectors];
    bool second_relu, relu;
    MPT_DEVICE float operator()(const float (&v)[2], float x1, float x2) const {
        const float sum = x1 * v[0] + v[1] + (second_relu ? positive(x2) : x2);
        return relu ? positive(sum) : sum;
    }
};

struct TwoAffines {
    static constexpr int kVectors = 4;
    const float* vectors[kVectors];
    bool second_relu, relu;
    MPT_DEVICE float operator()(const float (&v)[4], float x1, float x2) const {
        const float second = x2 * v[2] + v[3];
        const float sum = x1 * v[0] + v[1] + (second_relu ? positive(second) : second);
        return relu ? positive(sum) : sum;
    }
};

void run_affine(const gpu::Call& s, const KernelArgs& a) {
    const Affine f{{a.in<float>(1), a.in<float>(2)}, s.attributes.as<ChannelAffineAttributes>().relu};
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map_channels(*s.device, gpu::elements_of(s), s.in(0).shape[-1], f, a.out<T>(0), a.in<T>(0));
    });
}

void run_add(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<AffineAddReluAttributes>();
    const std::int64_t channels = s.in(in::kX1).shape[-1];
    gpu::with_storage(s.in(in::kX1).dtype, [&]<typename T>(T) {
        const auto run = [&](const auto& f) {
            gpu::map_channels(*s.device, gpu::elements_of(s), channels, f, a.out<T>(0), a.in<T>(in::kX1),
                              a.in<T>(in::kX2));
        };
        const float *scale1 = a.in<float>(in::kScale1), *shift1 = a.in<float>(in::kShift1);
        if (s.has(in::kScale2))
            run(TwoAffines{{scale1, shift1, a.in<float>(in::kScale2), a.in<float>(in::kShift2)},
                           attributes.second_relu,
                           attributes.relu});
        else
            run(AffineAdd{{scale1, shift1}, attributes.second_relu, attributes.relu});
    });
}

std::string refusal_of_add(const Signature& s) {
    return s.in(in::kX1).dtype == s.in(in::kX2).dtype ? gpu::refusal(s) : "needs one type of data";
}

}  // namespace

MPT_REGISTER_CUDA(channel_affine)(KernelTable& table) {
    table.add(gpu::kernel<run_affine>(channel_affine_op));
    table.add(gpu::kernel<run_add>(affine_add_relu_op, refusal_of_add));
}

}  // namespace mpt
