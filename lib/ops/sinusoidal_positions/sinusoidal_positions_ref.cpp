#include <cmath>

#include "ops/reference.h"
#include "ops/sinusoidal_positions/sinusoidal_positions.h"

namespace mpt {

namespace {

void run_forward(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<SinusoidalPositionsAttributes>();
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    const std::int64_t length = x.dim(1), width = x.dim(2);
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t row = i / width, channel = i % width;
        const std::int64_t first = s.has(1) ? a.in<std::int32_t>(1)[row / length] : 0;
        const double angle =
            static_cast<double>(first + row % length) * sinusoid_frequency(attributes, channel / 2, width);
        y.set(i, attributes.scale * x(i) + (channel % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
}

void run_backward(const Signature& s, const KernelArgs& a) {
    const double scale = s.attributes.as<SinusoidalPositionsAttributes>().scale;
    const auto grad_y = reference::input(s, a, 0);
    const auto grad_x = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < grad_y.size(); ++i) grad_x.set(i, scale * grad_y(i));
}

}  // namespace

void register_sinusoidal_positions_ref(KernelTable& table) {
    table.add(reference::kernel<run_forward>(sinusoidal_positions_op));
    table.add(reference::kernel<run_backward>(sinusoidal_positions_backward_op));
}

}  // namespace mpt
