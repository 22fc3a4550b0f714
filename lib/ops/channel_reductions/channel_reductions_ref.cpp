#include "ops/channel_reductions/channel_reductions.h"
#include "ops/reference.h"

namespace mpt {

namespace {

namespace in = relu_backward_reductions_input;
using reference::Tensor;

// sums[row, c] += values over all pixels of value(i).
template <typename F>
void sum_channels(const Tensor& sums, std::int64_t row, std::int64_t size, const F& value) {
    const std::int64_t channels = sums.dim(-1);
    std::vector<double> total(static_cast<std::size_t>(channels));
    for (std::int64_t i = 0; i < size; ++i) total[static_cast<std::size_t>(i % channels)] += value(i);
    for (std::int64_t c = 0; c < channels; ++c)
        sums.set(row * channels + c, total[static_cast<std::size_t>(c)]);
}

void reduce(const Tensor& g, const Tensor& ref1, const Tensor& ref2, const Tensor& sums) {
    sum_channels(sums, 0, g.size(), [&](std::int64_t i) { return g(i); });
    sum_channels(sums, 1, g.size(), [&](std::int64_t i) { return g(i) * ref1(i); });
    if (ref2) sum_channels(sums, 2, g.size(), [&](std::int64_t i) { return g(i) * ref2(i); });
}

void run_statistics(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto sums = reference::output(s, a, 0);
    sum_channels(sums, 0, x.size(), [&](std::int64_t i) { return x(i); });
    sum_channels(sums, 1, x.size(), [&](std::int64_t i) { return x(i) * x(i); });
}

void run_reductions(const Signature& s, const KernelArgs& a) {
    const bool two = s.attributes.as<ChannelReductionsAttributes>().num_references == 2;
    reduce(reference::input(s, a, 0), reference::input(s, a, 1), two ? reference::input(s, a, 2) : Tensor{},
           reference::output(s, a, 0));
}

void run_combine(const Signature& s, const KernelArgs& k) {
    const auto g = reference::input(s, k, 0), x = reference::input(s, k, 1);
    const auto a = reference::input(s, k, 2), b = reference::input(s, k, 3), c = reference::input(s, k, 4);
    const auto grad_x = reference::output(s, k, 0);
    for (std::int64_t i = 0; i < g.size(); ++i) {
        const std::int64_t channel = i % g.dim(-1);
        grad_x.set(i, a(channel) * g(i) + b(channel) * x(i) + c(channel));
    }
}

void run_relu(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<ReluBackwardReductionsAttributes>();
    const auto g = reference::input(s, a, in::kG), x = reference::input(s, a, in::kX);
    const auto scale = reference::input(s, a, in::kScale), shift = reference::input(s, a, in::kShift);
    const auto grad = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < g.size(); ++i) {
        const std::int64_t c = i % g.dim(-1);
        const double activation = attributes.affine ? x(i) * scale(c) + shift(c) : x(i);
        grad.set(i, activation > 0 ? g(i) : 0.0);
    }
    reduce(grad, reference::input(s, a, in::kRef1),
           attributes.num_references == 2 ? reference::input(s, a, in::kRef2) : Tensor{},
           reference::output(s, a, 1));
}

}  // namespace

void register_channel_reductions_ref(KernelTable& table) {
    table.add(reference::kernel<run_statistics>(channel_statistics_op));
    table.add(reference::kernel<run_reductions>(channel_reductions_op));
    table.add(reference::kernel<run_combine>(channel_combine_op));
    table.add(reference::kernel<run_relu>(relu_backward_reductions_op));
}

}  // namespace mpt
