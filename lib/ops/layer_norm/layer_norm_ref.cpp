#include <cmath>

#include "ops/layer_norm/layer_norm.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_layer_norm(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto gain = reference::input(s, a, 1);
    const auto bias = reference::input(s, a, 2);
    const auto y = reference::output(s, a, 0);
    const double epsilon = s.attributes.as<LayerNormAttributes>().epsilon;
    const std::int64_t width = x.dim(-1), rows = x.size() / width;
    const double n = static_cast<double>(width);
    for (std::int64_t r = 0; r < rows; ++r) {
        double mean = 0, variance = 0;
        for (std::int64_t c = 0; c < width; ++c) mean += x(r * width + c) / n;
        for (std::int64_t c = 0; c < width; ++c) variance += std::pow(x(r * width + c) - mean, 2) / n;
        const double rstd = 1 / std::sqrt(variance + epsilon);
        for (std::int64_t c = 0; c < width; ++c)
            y.set(r * width + c, gain(c) * (x(r * width + c) - mean) * rstd + (bias ? bias(c) : 0.0));
        reference::output(s, a, 1).set(r, mean);
        reference::output(s, a, 2).set(r, rstd);
    }
}

// With xhat = (x - mean) rstd, g = grad_y gain and averages over the row:
// grad_x = rstd (g - average(g) - xhat average(g xhat)).
void run_layer_norm_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto x = reference::input(s, a, 1);
    const auto gain = reference::input(s, a, 2);
    const auto mean = reference::input(s, a, 3);
    const auto rstd = reference::input(s, a, 4);
    const auto grad_x = reference::output(s, a, 0);
    const std::int64_t width = x.dim(-1), rows = x.size() / width;
    const double n = static_cast<double>(width);
    std::vector<double> grad_gain(static_cast<std::size_t>(width)), grad_bias(grad_gain);
    for (std::int64_t r = 0; r < rows; ++r) {
        double average = 0, along = 0;
        const auto xhat = [&](std::int64_t c) { return (x(r * width + c) - mean(r)) * rstd(r); };
        for (std::int64_t c = 0; c < width; ++c) {
            const double g = grad_y(r * width + c);
            average += g * gain(c) / n;
            along += g * gain(c) * xhat(c) / n;
            grad_gain[static_cast<std::size_t>(c)] += g * xhat(c);
            grad_bias[static_cast<std::size_t>(c)] += g;
        }
        for (std::int64_t c = 0; c < width; ++c)
            grad_x.set(r * width + c,
                       rstd(r) * (grad_y(r * width + c) * gain(c) - average - xhat(c) * along));
    }
    for (std::int64_t c = 0; c < width; ++c) {
        reference::output(s, a, 1).set(c, grad_gain[static_cast<std::size_t>(c)]);
        reference::output(s, a, 2).set(c, grad_bias[static_cast<std::size_t>(c)]);
    }
}

}  // namespace

void register_layer_norm_ref(KernelTable& table) {
    table.add(reference::kernel<run_layer_norm>(layer_norm_op));
    table.add(reference::kernel<run_layer_norm_backward>(layer_norm_backward_op));
}

}  // namespace mpt
