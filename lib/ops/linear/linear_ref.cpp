#include "ops/activation_reference.h"
#include "ops/linear/linear.h"
#include "ops/reference.h"

namespace mpt {

namespace {

// f(x) as the op reads it.
std::vector<double> activated(const Signature& s, const reference::Tensor& x) {
    std::vector<double> values = x.values();
    for (double& value : values)
        value = reference::activation(s.attributes.as<LinearAttributes>().of_input, value).y;
    return values;
}

void run_linear(const Signature& s, const KernelArgs& a) {
    const std::vector<double> x = activated(s, reference::input(s, a, 0));
    const auto w = reference::input(s, a, 1);
    const auto y = reference::output(s, a, 0);
    const std::int64_t rows = y.dim(0), in = w.dim(1), out = w.dim(0);
    for (std::int64_t m = 0; m < rows; ++m)
        for (std::int64_t o = 0; o < out; ++o) {
            double sum = s.has(2) ? reference::input(s, a, 2)(o) : 0.0;
            for (std::int64_t i = 0; i < in; ++i)
                sum += x[static_cast<std::size_t>(m * in + i)] * w(o * in + i);
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
            if (s.has(2))
                sum *= reference::activation(s.attributes.as<LinearAttributes>().of_input,
                                             reference::input(s, a, 2)(m * in + i))
                           .slope;
            grad_x.set(m * in + i, sum);
        }
}

// With `buffer` 1 input 0 is what the gradient is added to.
template <int buffer>
void run_linear_backward_weight(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, buffer);
    const std::vector<double> x = activated(s, reference::input(s, a, buffer + 1));
    const auto grad_w = reference::output(s, a, 0);
    const std::int64_t rows = grad_y.dim(0), in = grad_w.dim(1), out = grad_y.dim(1);
    for (std::int64_t o = 0; o < out; ++o)
        for (std::int64_t i = 0; i < in; ++i) {
            double sum = buffer == 0 ? 0 : reference::input(s, a, 0)(o * in + i);
            for (std::int64_t m = 0; m < rows; ++m)
                sum += grad_y(m * out + o) * x[static_cast<std::size_t>(m * in + i)];
            grad_w.set(o * in + i, sum);
        }
}

void run_linear_backward_weight_bias(const Signature& s, const KernelArgs& a) {
    run_linear_backward_weight<1>(s, a);
    const auto grad_y = reference::input(s, a, 1);
    const auto grad_bias = reference::output(s, a, 1);
    for (std::int64_t o = 0; o < grad_bias.size(); ++o) {
        double sum = 0;
        for (std::int64_t m = 0; m < grad_y.dim(0); ++m) sum += grad_y(m * grad_bias.size() + o);
        grad_bias.set(o, sum);
    }
}

}  // namespace

void register_linear_ref(KernelTable& table) {
    table.add(reference::kernel<run_linear>(linear_op));
    table.add(reference::kernel<run_linear_backward_data>(linear_backward_data_op));
    table.add(reference::kernel<run_linear_backward_weight<0>>(linear_backward_weight_op));
    table.add(reference::kernel<run_linear_backward_weight<1>>(linear_backward_weight_accumulate_op));
    table.add(reference::kernel<run_linear_backward_weight_bias>(linear_backward_weight_bias_accumulate_op));
}

}  // namespace mpt
