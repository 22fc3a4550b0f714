#include <algorithm>
#include <cmath>

#include "ops/batch_norm/batch_norm.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_batch_norm(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto gamma = reference::input(s, a, 1);
    const auto beta = reference::input(s, a, 2);
    const auto y = reference::output(s, a, 0);
    const std::int64_t channels = x.dim(-1), rows = x.size() / channels;
    for (std::int64_t c = 0; c < channels; ++c) {
        double mean = 0, variance = 0;
        for (std::int64_t r = 0; r < rows; ++r) mean += x(r * channels + c) / static_cast<double>(rows);
        for (std::int64_t r = 0; r < rows; ++r) {
            const double centred = x(r * channels + c) - mean;
            variance += centred * centred / static_cast<double>(rows);
        }
        const double rstd = 1 / std::sqrt(variance + s.attributes.as<BatchNormAttributes>().epsilon);
        for (std::int64_t r = 0; r < rows; ++r)
            y.set(r * channels + c, gamma(c) * (x(r * channels + c) - mean) * rstd + beta(c));
        reference::output(s, a, 1).set(c, mean);
        reference::output(s, a, 2).set(c, rstd);
    }
}

// With xhat = (x - mean) rstd and averages over the rows:
// grad_x = gamma rstd (grad_y - average(grad_y) - xhat average(grad_y xhat)).
void run_batch_norm_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto x = reference::input(s, a, 1);
    const auto gamma = reference::input(s, a, 2);
    const auto mean = reference::input(s, a, 3);
    const auto rstd = reference::input(s, a, 4);
    const auto grad_x = reference::output(s, a, 0);
    const std::int64_t channels = x.dim(-1), rows = x.size() / channels;
    for (std::int64_t c = 0; c < channels; ++c) {
        double sum = 0, sum_xhat = 0;
        const auto xhat = [&](std::int64_t r) { return (x(r * channels + c) - mean(c)) * rstd(c); };
        for (std::int64_t r = 0; r < rows; ++r) {
            sum += grad_y(r * channels + c);
            sum_xhat += grad_y(r * channels + c) * xhat(r);
        }
        const double n = static_cast<double>(rows);
        for (std::int64_t r = 0; r < rows; ++r)
            grad_x.set(r * channels + c,
                       gamma(c) * rstd(c) * (grad_y(r * channels + c) - sum / n - xhat(r) * sum_xhat / n));
        reference::output(s, a, 1).set(c, sum_xhat);
        reference::output(s, a, 2).set(c, sum);
    }
}

void run_batch_norm_inference(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto gamma = reference::input(s, a, 1);
    const auto beta = reference::input(s, a, 2);
    const auto mean = reference::input(s, a, 3);
    const auto variance = reference::input(s, a, 4);
    const auto y = reference::output(s, a, 0);
    const double epsilon = s.attributes.as<BatchNormAttributes>().epsilon;
    const std::int64_t channels = x.dim(-1);
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t c = i % channels;
        y.set(i, gamma(c) * (x(i) - mean(c)) / std::sqrt(variance(c) + epsilon) + beta(c));
    }
}

void run_running_statistics(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<RunningStatisticsAttributes>();
    const auto old_mean = reference::input(s, a, 0);
    const auto old_var = reference::input(s, a, 1);
    const auto mean = reference::input(s, a, 2);
    const auto rstd = reference::input(s, a, 3);
    const double momentum = attributes.momentum, count = static_cast<double>(attributes.count);
    for (std::int64_t c = 0; c < mean.size(); ++c) {
        const double biased = std::max(0.0, 1 / (rstd(c) * rstd(c)) - attributes.epsilon);
        const double unbiased = biased * count / std::max(1.0, count - 1);
        // A batch that overflowed must not spoil the running values for good: its update is skipped as well.
        if (!std::isfinite(mean(c)) || !std::isfinite(unbiased)) continue;
        reference::output(s, a, 0).set(c, (1 - momentum) * old_mean(c) + momentum * mean(c));
        reference::output(s, a, 1).set(c, (1 - momentum) * old_var(c) + momentum * unbiased);
    }
}

}  // namespace

void register_batch_norm_ref(KernelTable& table) {
    table.add(reference::kernel<run_batch_norm>(batch_norm_op));
    for (const OpType* op : {&batch_norm_backward_op, &batch_norm_backward_fused_op})
        table.add(reference::kernel<run_batch_norm_backward>(*op));
    table.add(reference::kernel<run_batch_norm_inference>(batch_norm_inference_op));
    table.add(reference::kernel<run_running_statistics>(running_statistics_op));
}

}  // namespace mpt
