#include "ops/conv2d_backward_fused/conv2d_backward_fused.h"
#include "ops/reference.h"

namespace mpt {

namespace {

namespace in = conv2d_backward_fused_input;
using reference::Tensor;
using Doubles = std::vector<double>;

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

// scale * x + shift, unrounded, in f64.
Doubles activated(const Signature& s, const KernelArgs& k) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Tensor x = reference::input(s, k, in::kX), scale = reference::input(s, k, in::kScale);
    const Tensor shift = reference::input(s, k, in::kShift);
    if (!x) return {};
    Doubles values(at(x.size()));
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t c = i % x.dim(3);
        values[at(i)] = a.input_affine ? x(i) * scale(c) + shift(c) : x(i);
        if (a.input_relu && values[at(i)] < 0) values[at(i)] = 0;
    }
    return values;
}

Doubles effective_gradient(const Signature& s, const KernelArgs& k) {
    const bool affine = s.attributes.as<Conv2dBackwardFusedAttributes>().grad_affine;
    const Tensor g = reference::input(s, k, in::kG), y = reference::input(s, k, in::kY);
    const Tensor a = reference::input(s, k, in::kA), b = reference::input(s, k, in::kB);
    const Tensor c = reference::input(s, k, in::kC);
    Doubles values(at(g.size()));
    for (std::int64_t i = 0; i < g.size(); ++i) {
        const std::int64_t o = i % g.dim(3);
        values[at(i)] = affine ? a(o) * g(i) + b(o) * y(i) + c(o) : g(i);
    }
    return values;
}

// Calls body(index of g, index of x, index of w) for every product of the convolution.
template <typename F>
void for_each_product(const Signature& s, std::int64_t channels, const F& body) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Shape& g = s.in(in::kG).shape;
    for (std::int64_t i = 0; i < g.num_elements(); ++i) {
        const std::int64_t o = i % g[3], q = i / g[3] % g[2], p = i / (g[3] * g[2]) % g[1];
        const std::int64_t n = i / (g[3] * g[2] * g[1]);
        for (std::int64_t r = 0; r < a.kernel_h; ++r)
            for (std::int64_t t = 0; t < a.kernel_w; ++t) {
                const std::int64_t h = p * a.stride + r - a.pad, v = q * a.stride + t - a.pad;
                if (h < 0 || h >= a.height || v < 0 || v >= a.width) continue;
                const std::int64_t x = ((n * a.height + h) * a.width + v) * channels;
                const std::int64_t w = ((o * a.kernel_h + r) * a.kernel_w + t) * channels;
                for (std::int64_t c = 0; c < channels; ++c) body(i, x + c, w + c);
            }
    }
}

void run_data(const Signature& s, const KernelArgs& k, const Doubles& g, const Doubles& x) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Tensor w = reference::input(s, k, in::kW), addend = reference::input(s, k, in::kAddend);
    const Tensor grad_x = reference::output(s, k, outputs_of(a).grad_x);
    const std::int64_t channels = w.dim(3);
    Doubles total(at(grad_x.size()));
    for_each_product(s, channels, [&](std::int64_t gi, std::int64_t xi, std::int64_t wi) {
        total[at(xi)] += g[at(gi)] * w(wi);
    });
    Doubles sums(at((1 + a.num_references) * channels));
    for (std::int64_t i = 0; i < grad_x.size(); ++i) {
        const double sum = total[at(i)] + (a.add ? addend(i) : 0.0);
        grad_x.set(i, a.mask == InputMask::kOff || x[at(i)] > 0 ? sum : 0.0);
        if (!a.reductions) continue;
        sums[at(i % channels)] += grad_x(i);
        for (int r = 0; r < a.num_references; ++r)
            sums[at((1 + r) * channels + i % channels)] +=
                grad_x(i) * reference::input(s, k, in::kRef1 + r)(i);
    }
    if (!a.reductions) return;
    const Tensor reductions = reference::output(s, k, outputs_of(a).reductions);
    for (std::int64_t i = 0; i < reductions.size(); ++i) reductions.set(i, sums[at(i)]);
}

void run_weight(const Signature& s, const KernelArgs& k, const Doubles& g, const Doubles& x) {
    const Tensor old = reference::input(s, k, in::kBuffer), buffer = reference::output(s, k, 0);
    Doubles total(at(buffer.size()));
    for_each_product(s, buffer.dim(3), [&](std::int64_t gi, std::int64_t xi, std::int64_t wi) {
        total[at(wi)] += g[at(gi)] * x[at(xi)];
    });
    for (std::int64_t i = 0; i < buffer.size(); ++i) buffer.set(i, old(i) + total[at(i)]);
}

void run(const Signature& s, const KernelArgs& k) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Doubles g = effective_gradient(s, k), x = activated(s, k);
    if (a.need_weight) run_weight(s, k, g, x);
    if (a.need_data) run_data(s, k, g, x);
}

}  // namespace

void register_conv2d_backward_fused_ref(KernelTable& table) {
    table.add(reference::kernel<run>(conv2d_backward_fused_op));
    table.add(reference::kernel<run>(conv2d_backward_data_fused_op));
    table.add(reference::kernel<run>(conv2d_backward_weight_fused_op));
}

}  // namespace mpt
