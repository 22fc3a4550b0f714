#include <cmath>

#include "ops/max_pool/max_pool.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_max_pool(const Signature& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<MaxPoolAttributes>();
    const auto x = reference::input(s, args, 0);
    const auto y = reference::output(s, args, 0);
    const auto index = reference::output(s, args, 1);
    const std::int64_t height = x.dim(1), width = x.dim(2), channels = x.dim(3);
    const std::int64_t out_h = y.dim(1), out_w = y.dim(2);
    const auto activated = [&](std::int64_t at) {
        if (!a.affine) return x(at);
        const double value =
            x(at) * reference::input(s, args, 1)(at % channels) + reference::input(s, args, 2)(at % channels);
        return a.relu && value < 0 ? 0.0 : value;
    };
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const std::int64_t c = i % channels, q = i / channels % out_w, p = i / (channels * out_w) % out_h;
        const std::int64_t n = i / (channels * out_w * out_h);
        double best = 0;
        std::int64_t place = -1;
        for (std::int64_t r = 0; r < a.window; ++r)
            for (std::int64_t t = 0; t < a.window; ++t) {
                const std::int64_t h = p * a.stride - a.pad + r, w = q * a.stride - a.pad + t;
                if (h < 0 || h >= height || w < 0 || w >= width) continue;
                const double value = activated(((n * height + h) * width + w) * channels + c);
                if (place < 0 || value > best || (std::isnan(value) && !std::isnan(best))) {
                    best = value;
                    place = r * a.window + t;
                }
            }
        y.set(i, best);
        index.set(i, static_cast<double>(place));
    }
}

void run_max_pool_backward(const Signature& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<MaxPoolBackwardAttributes>();
    const auto grad_y = reference::input(s, args, 0);
    const std::uint8_t* index = args.in<std::uint8_t>(1);
    const auto grad_x = reference::output(s, args, 0);
    const std::int64_t channels = grad_x.dim(3), out_h = grad_y.dim(1), out_w = grad_y.dim(2);
    std::vector<double> sums(static_cast<std::size_t>(grad_x.size()));
    for (std::int64_t i = 0; i < grad_y.size(); ++i) {
        const std::int64_t c = i % channels, q = i / channels % out_w, p = i / (channels * out_w) % out_h;
        const std::int64_t n = i / (channels * out_w * out_h);
        const std::int64_t h = p * a.stride - a.pad + index[i] / a.window;
        const std::int64_t w = q * a.stride - a.pad + index[i] % a.window;
        sums[static_cast<std::size_t>(((n * a.height + h) * a.width + w) * channels + c)] += grad_y(i);
    }
    for (std::int64_t i = 0; i < grad_x.size(); ++i) grad_x.set(i, sums[static_cast<std::size_t>(i)]);
}

}  // namespace

void register_max_pool_ref(KernelTable& table) {
    table.add(reference::kernel<run_max_pool>(max_pool_op));
    table.add(reference::kernel<run_max_pool_backward>(max_pool_backward_op));
}

}  // namespace mpt
