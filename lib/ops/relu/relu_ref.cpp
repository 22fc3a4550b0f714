#include "ops/reference.h"
#include "ops/relu/relu.h"

namespace mpt {

namespace {

void run_relu(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) y.set(i, x(i) < 0 ? 0.0 : x(i));
}

void run_relu_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto y = reference::input(s, a, 1);
    const auto grad_x = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < y.size(); ++i) grad_x.set(i, y(i) > 0 ? grad_y(i) : 0.0);
}

}  // namespace

void register_relu_ref(KernelTable& table) {
    table.add(reference::kernel<run_relu>(relu_op));
    table.add(reference::kernel<run_relu_backward>(relu_backward_op));
}

}  // namespace mpt
