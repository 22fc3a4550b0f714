#include "ops/linear/linear.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_linear(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto w = reference::input(s, a, 1);
    const auto y = reference::output(s, a, 0);
    const std::int64_t rows = x.dim(0), in = x.dim(1), out = w.dim(0);
    for (std::int64_t m = 0; m < rows; ++m)
        for (std::int64_t o = 0; o < out; ++o) {
            double sum = s.has(2) ? reference::input(s, a, 2)(o) : 0.0;
            for (std::int64_t i = 0; i < in; ++i) sum += x(m * in + i) * w(o * in + i);
            y.set(m * out + o, sum);
        }
}

void run_linear_backward_data(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto w = reference::input(s, a, 1);
    const auto grad_x = reference::output(s, a, 0);
    const std::int64_t rows = grad_y.dim(0), in = w.dim(1), out = w.dim(0);
    for (std::int64_t m = 0; m < rows; ++m)
        for (std::int64_t i = 0; i < in; ++i) {
            double sum = 0;
            for (std::int64_t o = 0; o < out; ++o) sum += grad_y(m * out + o) * w(o * in + i);
            grad_x.set(m * in + i, sum);
        }
}

void run_linear_backward_weight(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto x = reference::input(s, a, 1);
    const auto grad_w = reference::output(s, a, 0);
    const std::int64_t rows = x.dim(0), in = x.dim(1), out = grad_y.dim(1);
    for (std::int64_t o = 0; o < out; ++o)
        for (std::int64_t i = 0; i < in; ++i) {
            double sum = 0;
            for (std::int64_t m = 0; m < rows; ++m) sum += grad_y(m * out + o) * x(m * in + i);
            grad_w.set(o * in + i, sum);
        }
}

}  // namespace

void register_linear_ref(KernelTable& table) {
    table.add(reference::kernel<run_linear>(linear_op));
    table.add(reference::kernel<run_linear_backward_data>(linear_backward_data_op));
    table.add(reference::kernel<run_linear_backward_weight>(linear_backward_weight_op));
}

}  // namespace mpt
