#include <algorithm>
#include <cmath>

#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<BatchNormFoldAttributes>();
    const auto statistics = reference::input(s, a, 0);
    const auto gamma = reference::input(s, a, 1), beta = reference::input(s, a, 2);
    const auto scale = reference::output(s, a, 0), shift = reference::output(s, a, 1);
    const auto mean = reference::output(s, a, 2), rstd = reference::output(s, a, 3);
    const auto count = static_cast<double>(attributes.count);
    const std::int64_t channels = gamma.size();
    for (std::int64_t c = 0; c < channels; ++c) {
        const double m = statistics(c) / count;
        // Rounding of the sums may leave a constant channel below zero; NaN must pass.
        const double variance = statistics(channels + c) / count - m * m;
        const double r = 1 / std::sqrt((variance < 0 ? 0.0 : variance) + attributes.epsilon);
        mean.set(c, m);
        rstd.set(c, r);
        scale.set(c, gamma(c) * r);
        shift.set(c, beta(c) - m * gamma(c) * r);
    }
}

void run_inference(const Signature& s, const KernelArgs& a) {
    const double epsilon = s.attributes.as<BatchNormInferenceFoldAttributes>().epsilon;
    const auto gamma = reference::input(s, a, 0), beta = reference::input(s, a, 1);
    const auto mean = reference::input(s, a, 2), variance = reference::input(s, a, 3);
    for (std::int64_t c = 0; c < gamma.size(); ++c) {
        const double factor = gamma(c) / std::sqrt(variance(c) + epsilon);
        reference::output(s, a, 0).set(c, factor);
        reference::output(s, a, 1).set(c, beta(c) - mean(c) * factor);
    }
}

// With xhat = (x - mean) rstd and n values a channel (Ioffe & Szegedy 2015):
// grad_x = gamma rstd (g - sum(g) / n - xhat sum(g xhat) / n), written as a g + b x + c.
void run_backward(const Signature& s, const KernelArgs& k) {
    const auto& attributes = s.attributes.as<BatchNormBackwardFoldAttributes>();
    const auto sums = reference::input(s, k, 0), gamma = reference::input(s, k, 1);
    const auto mean = reference::input(s, k, 2), rstd = reference::input(s, k, 3);
    const auto count = static_cast<double>(attributes.count);
    for (std::int64_t c = 0; c < gamma.size(); ++c) {
        const double sum_g = sums(c);
        const double grad_gamma = rstd(c) * (sums(attributes.row * gamma.size() + c) - mean(c) * sum_g);
        const double a = gamma(c) * rstd(c);
        const double b = -a * rstd(c) * grad_gamma / count;
        reference::output(s, k, 0).set(c, grad_gamma);
        reference::output(s, k, 1).set(c, sum_g);
        reference::output(s, k, 2).set(c, a);
        reference::output(s, k, 3).set(c, b);
        reference::output(s, k, 4).set(c, -a * sum_g / count - b * mean(c));
    }
}

}  // namespace

void register_batch_norm_fold_ref(KernelTable& table) {
    table.add(reference::kernel<run>(batch_norm_fold_op));
    table.add(reference::kernel<run_inference>(batch_norm_inference_fold_op));
    table.add(reference::kernel<run_backward>(batch_norm_backward_fold_op));
}

}  // namespace mpt
