#include "ops/conv2d_fused/conv2d_fused.h"
#include "ops/reference.h"

namespace mpt {

namespace {

namespace in = conv2d_fused_input;
using reference::Tensor;

// The input of the product: affine and relu in f64, unrounded.
std::vector<double> effective_input(const Signature& s, const KernelArgs& k) {
    const auto& a = s.attributes.as<Conv2dFusedAttributes>();
    const Tensor x = reference::input(s, k, in::kX);
    const Tensor scale = reference::input(s, k, in::kScale), shift = reference::input(s, k, in::kShift);
    std::vector<double> values(static_cast<std::size_t>(x.size()));
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t c = i % x.dim(3);
        double value = a.input_affine ? x(i) * scale(c) + shift(c) : x(i);
        if (a.input_relu && value < 0) value = 0;
        values[static_cast<std::size_t>(i)] = value;
    }
    return values;
}

void run(const Signature& s, const KernelArgs& k) {
    const auto& a = s.attributes.as<Conv2dFusedAttributes>();
    const Tensor w = reference::input(s, k, in::kW), y = reference::output(s, k, 0);
    const Shape& x_shape = s.in(in::kX).shape;
    const std::vector<double> x = effective_input(s, k);
    const std::int64_t height = x_shape[1], width = x_shape[2], channels = x_shape[3];
    const std::int64_t out_channels = w.dim(0), kernel_h = w.dim(1), kernel_w = w.dim(2);
    std::vector<double> sum(static_cast<std::size_t>(out_channels)), squares(sum);
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const std::int64_t o = i % out_channels, q = i / out_channels % y.dim(2);
        const std::int64_t p = i / (out_channels * y.dim(2)) % y.dim(1);
        const std::int64_t n = i / (out_channels * y.dim(2) * y.dim(1));
        double total = 0;
        for (std::int64_t r = 0; r < kernel_h; ++r)
            for (std::int64_t t = 0; t < kernel_w; ++t) {
                const std::int64_t h = p * a.stride + r - a.pad, v = q * a.stride + t - a.pad;
                if (h < 0 || h >= height || v < 0 || v >= width) continue;
                for (std::int64_t c = 0; c < channels; ++c)
                    total += x[static_cast<std::size_t>(((n * height + h) * width + v) * channels + c)] *
                             w(((o * kernel_h + r) * kernel_w + t) * channels + c);
            }
        y.set(i, total);
        sum[static_cast<std::size_t>(o)] += y(i);  // as stored
        squares[static_cast<std::size_t>(o)] += y(i) * y(i);
    }
    if (!a.statistics) return;
    const Tensor statistics = reference::output(s, k, 1);
    for (std::int64_t o = 0; o < out_channels; ++o) {
        statistics.set(o, sum[static_cast<std::size_t>(o)]);
        statistics.set(out_channels + o, squares[static_cast<std::size_t>(o)]);
    }
}

}  // namespace

void register_conv2d_fused_ref(KernelTable& table) {
    table.add(reference::kernel<run>(conv2d_fused_op));
}

}  // namespace mpt
