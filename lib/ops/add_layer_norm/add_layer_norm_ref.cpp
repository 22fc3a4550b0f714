#include <cmath>

#include "ops/add_layer_norm/add_layer_norm.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_add_layer_norm(const Signature& s, const KernelArgs& args) {
    const auto a = reference::input(s, args, 0), b = reference::input(s, args, 1);
    const auto gain = reference::input(s, args, 2), bias = reference::input(s, args, 3);
    const auto sum = reference::output(s, args, 0), y = reference::output(s, args, 1);
    const double epsilon = s.attributes.as<LayerNormAttributes>().epsilon;
    const std::int64_t width = a.dim(-1), rows = a.size() / width;
    const double n = static_cast<double>(width);
    for (std::int64_t i = 0; i < a.size(); ++i) sum.set(i, a(i) + b(i));
    for (std::int64_t r = 0; r < rows; ++r) {
        double mean = 0, variance = 0;
        for (std::int64_t i = r * width; i < (r + 1) * width; ++i) mean += sum(i) / n;
        for (std::int64_t i = r * width; i < (r + 1) * width; ++i) variance += std::pow(sum(i) - mean, 2) / n;
        const double rstd = 1 / std::sqrt(variance + epsilon);
        for (std::int64_t c = 0; c < width; ++c)
            y.set(r * width + c, gain(c) * (sum(r * width + c) - mean) * rstd + (bias ? bias(c) : 0.0));
        reference::output(s, args, 2).set(r, mean);
        reference::output(s, args, 3).set(r, rstd);
    }
}

// As in layer_norm_backward, plus the other gradient.
void run_backward_add(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0), x = reference::input(s, a, 1);
    const auto gain = reference::input(s, a, 2), mean = reference::input(s, a, 3);
    const auto rstd = reference::input(s, a, 4), other = reference::input(s, a, 5);
    const std::int64_t width = x.dim(-1), rows = x.size() / width;
    std::vector<double> grad_gain(static_cast<std::size_t>(width)), grad_bias(grad_gain);
    for (std::int64_t r = 0; r < rows; ++r) {
        double average = 0, along = 0;
        const auto xhat = [&](std::int64_t c) { return (x(r * width + c) - mean(r)) * rstd(r); };
        for (std::int64_t c = 0; c < width; ++c) {
            const double g = grad_y(r * width + c);
            average += g * gain(c) / static_cast<double>(width);
            along += g * gain(c) * xhat(c) / static_cast<double>(width);
            grad_gain[static_cast<std::size_t>(c)] += g * xhat(c);
            grad_bias[static_cast<std::size_t>(c)] += g;
        }
        for (std::int64_t c = 0; c < width; ++c) {
            const std::int64_t i = r * width + c;
            const double own = rstd(r) * (grad_y(i) * gain(c) - average - xhat(c) * along);
            reference::output(s, a, 0).set(i, own + other(i));
        }
    }
    for (std::int64_t c = 0; c < width; ++c) {
        reference::output(s, a, 1).set(c, grad_gain[static_cast<std::size_t>(c)]);
        reference::output(s, a, 2).set(c, grad_bias[static_cast<std::size_t>(c)]);
    }
}

}  // namespace

void register_add_layer_norm_ref(KernelTable& table) {
    table.add(reference::kernel<run_add_layer_norm>(add_layer_norm_op));
    table.add(reference::kernel<run_backward_add>(layer_norm_backward_add_op));
}

}  // namespace mpt
