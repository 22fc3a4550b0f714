#include <cmath>

#include "ops/reference.h"
#include "ops/silu/silu.h"

namespace mpt {

namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

void run_silu(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) y.set(i, x(i) * sigmoid(x(i)));
}

void run_silu_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto x = reference::input(s, a, 1);
    const auto grad_x = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const double p = sigmoid(x(i));
        grad_x.set(i, grad_y(i) * (p + x(i) * p * (1 - p)));
    }
}

}  // namespace

void register_silu_ref(KernelTable& table) {
    table.add(reference::kernel<run_silu>(silu_op));
    table.add(reference::kernel<run_silu_backward>(silu_backward_op));
}

}  // namespace mpt
