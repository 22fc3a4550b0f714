#include <cmath>

#include "ops/channel_affine/channel_affine.h"
#include "ops/reference.h"

namespace mpt {

namespace {

namespace in = affine_add_relu_input;

// NaN stays NaN, as in relu.
double positive(double value) {
    return value < 0 ? 0.0 : value;
}

void run_affine(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto scale = reference::input(s, a, 1);
    const auto shift = reference::input(s, a, 2);
    const auto y = reference::output(s, a, 0);
    const bool relu = s.attributes.as<ChannelAffineAttributes>().relu;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t c = i % x.dim(-1);
        const double value = x(i) * scale(c) + shift(c);
        y.set(i, relu ? positive(value) : value);
    }
}

void run_add(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<AffineAddReluAttributes>();
    const auto input = [&](int index) { return reference::input(s, a, index); };
    const auto x1 = input(in::kX1), x2 = input(in::kX2), scale1 = input(in::kScale1),
               shift1 = input(in::kShift1);
    const auto scale2 = input(in::kScale2), shift2 = input(in::kShift2);
    const auto z = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x1.size(); ++i) {
        const std::int64_t c = i % x1.dim(-1);
        double second = x2(i);
        if (scale2) second = second * scale2(c) + shift2(c);
        if (attributes.second_relu) second = positive(second);
        const double sum = x1(i) * scale1(c) + shift1(c) + second;
        z.set(i, attributes.relu ? positive(sum) : sum);
    }
}

}  // namespace

void register_channel_affine_ref(KernelTable& table) {
    table.add(reference::kernel<run_affine>(channel_affine_op));
    table.add(reference::kernel<run_add>(affine_add_relu_op));
}

}  // namespace mpt
