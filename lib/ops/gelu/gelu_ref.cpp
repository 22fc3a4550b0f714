#include <cmath>
#include <numbers>

#include "ops/gelu/gelu.h"
#include "ops/reference.h"

namespace mpt {

namespace {

constexpr double kCubic = 0.044715;

struct ValueAndSlope {
    double y, slope;
};

ValueAndSlope exact(double x) {
    const double phi = std::erfc(-x / std::numbers::sqrt2) / 2;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    return {x * phi, phi + x * density};
}

ValueAndSlope by_tanh(double x) {
    const double scale = std::sqrt(2 / std::numbers::pi);
    const double t = std::tanh(scale * (x + kCubic * x * x * x));
    return {x / 2 * (1 + t), (1 + t) / 2 + x / 2 * (1 - t * t) * scale * (1 + 3 * kCubic * x * x)};
}

ValueAndSlope gelu_of(const Signature& s, double x) {
    return s.attributes.as<GeluAttributes>().form == GeluForm::kTanh ? by_tanh(x) : exact(x);
}

void run_gelu(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) y.set(i, gelu_of(s, x(i)).y);
}

void run_gelu_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto x = reference::input(s, a, 1);
    const auto grad_x = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) grad_x.set(i, grad_y(i) * gelu_of(s, x(i)).slope);
}

}  // namespace

void register_gelu_ref(KernelTable& table) {
    table.add(reference::kernel<run_gelu>(gelu_op));
    table.add(reference::kernel<run_gelu_backward>(gelu_backward_op));
}

}  // namespace mpt
