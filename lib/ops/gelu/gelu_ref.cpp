#include "ops/activation_reference.h"
#include "ops/gelu/gelu.h"
#include "ops/reference.h"

namespace mpt {

namespace {

reference::ValueAndSlope gelu_of(const Signature& s, double x) {
    return reference::activation(activation_of(s.attributes.as<GeluAttributes>().form), x);
}

void run_gelu(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) y.set(i, gelu_of(s, x(i)).y);
}

void run_gelu_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto x = reference::input(s, a, 1);
    const auto grad_x = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) grad_x.set(i, grad_y(i) * gelu_of(s, x(i)).slope);
}

}  // namespace

void register_gelu_ref(KernelTable& table) {
    table.add(reference::kernel<run_gelu>(gelu_op));
    table.add(reference::kernel<run_gelu_backward>(gelu_backward_op));
}

}  // namespace mpt
