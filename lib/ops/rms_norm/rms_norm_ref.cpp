#include <cmath>

#include "ops/reference.h"
#include "ops/rms_norm/rms_norm.h"

namespace mpt {

namespace {

void run_rms_norm(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto gain = reference::input(s, a, 1);
    const auto y = reference::output(s, a, 0);
    const double epsilon = s.attributes.as<RmsNormAttributes>().epsilon;
    const std::int64_t width = x.dim(-1), rows = x.size() / width;
    for (std::int64_t r = 0; r < rows; ++r) {
        double square = 0;
        for (std::int64_t c = 0; c < width; ++c)
            square += std::pow(x(r * width + c), 2) / static_cast<double>(width);
        const double rstd = 1 / std::sqrt(square + epsilon);
        for (std::int64_t c = 0; c < width; ++c) y.set(r * width + c, gain(c) * x(r * width + c) * rstd);
        reference::output(s, a, 1).set(r, rstd);
    }
}

// With xhat = x rstd, g = grad_y gain and the average over the row: grad_x = rstd (g - xhat average(g xhat)).
void run_rms_norm_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto x = reference::input(s, a, 1);
    const auto gain = reference::input(s, a, 2);
    const auto rstd = reference::input(s, a, 3);
    const auto grad_x = reference::output(s, a, 0);
    const std::int64_t width = x.dim(-1), rows = x.size() / width;
    std::vector<double> grad_gain(static_cast<std::size_t>(width));
    for (std::int64_t r = 0; r < rows; ++r) {
        double along = 0;
        for (std::int64_t c = 0; c < width; ++c) {
            const double product = grad_y(r * width + c) * x(r * width + c) * rstd(r);
            along += product * gain(c) / static_cast<double>(width);
            grad_gain[static_cast<std::size_t>(c)] += product;
        }
        for (std::int64_t c = 0; c < width; ++c)
            grad_x.set(r * width + c,
                       rstd(r) * (grad_y(r * width + c) * gain(c) - x(r * width + c) * rstd(r) * along));
    }
    for (std::int64_t c = 0; c < width; ++c)
        reference::output(s, a, 1).set(c, grad_gain[static_cast<std::size_t>(c)]);
}

}  // namespace

void register_rms_norm_ref(KernelTable& table) {
    table.add(reference::kernel<run_rms_norm>(rms_norm_op));
    table.add(reference::kernel<run_rms_norm_backward>(rms_norm_backward_op));
}

}  // namespace mpt
