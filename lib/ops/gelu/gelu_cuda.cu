#include "ops/cuda_kernel.h"
#include "ops/gelu/gelu.h"

namespace mpt {

namespace {

constexpr float kCubic = 0.044715f;
constexpr float kRootTwoOverPi = 0.79788456f;
constexpr float kInverseRootTwo = 0.70710678f;
constexpr float kInverseRootTwoPi = 0.39894228f;

// (1 + tanh(u)) / 2 of the tanh form, without the cancellation of 1 + tanh.
MPT_DEVICE float gate(float x) {
    return 1 / (1 + std::exp(-2 * kRootTwoOverPi * (x + kCubic * x * x * x)));
}

template <GeluForm form>
struct Gelu {
    MPT_DEVICE float operator()(std::int64_t, float x) const {
        if constexpr (form == GeluForm::kExact)
            return 0.5f * x * std::erfc(-x * kInverseRootTwo);
        else
            return x * gate(x);
    }
};

template <GeluForm form>
struct GeluBackward {
    MPT_DEVICE float operator()(std::int64_t, float grad_y, float x) const {
        if constexpr (form == GeluForm::kExact) {
            return grad_y *
                   (0.5f * std::erfc(-x * kInverseRootTwo) + x * kInverseRootTwoPi * std::exp(-0.5f * x * x));
        } else {
            // Far out the slope is 0 or 1, where the products below would be 0 times infinity.
            if (x > 10 || x < -10) return x > 0 ? grad_y : 0 * grad_y;
            const float slope = 2 * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
            return grad_y * gate(x) * (1 + x * gate(-x) * slope);
        }
    }
};

template <GeluForm form>
void gelu_of_form(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), Gelu<form>{}, a.out<T>(0), a.in<T>(0));
    });
}
template <GeluForm form>
void backward_of_form(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), GeluBackward<form>{}, a.out<T>(0), a.in<T>(0), a.in<T>(1));
    });
}

void run_gelu(const gpu::Call& s, const KernelArgs& a) {
    const bool exact = s.attributes.as<GeluAttributes>().form == GeluForm::kExact;
    (exact ? gelu_of_form<GeluForm::kExact> : gelu_of_form<GeluForm::kTanh>)(s, a);
}

void run_gelu_backward(const gpu::Call& s, const KernelArgs& a) {
    const bool exact = s.attributes.as<GeluAttributes>().form == GeluForm::kExact;
    (exact ? backward_of_form<GeluForm::kExact> : backward_of_form<GeluForm::kTanh>)(s, a);
}

}  // namespace

MPT_REGISTER_CUDA(gelu)(KernelTable& table) {
    table.add(gpu::kernel<run_gelu>(gelu_op));
    table.add(gpu::kernel<run_gelu_backward>(gelu_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt
