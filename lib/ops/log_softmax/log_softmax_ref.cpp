#include <algorithm>
#include <cmath>

#include "ops/log_softmax/log_softmax.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_log_softmax(const Signature& s, const KernelArgs& a) {
    const auto z = reference::input(s, a, 0);
    const auto logp = reference::output(s, a, 0);
    const std::int64_t classes = z.dim(1);
    for (std::int64_t row = 0; row < z.dim(0); ++row) {
        const std::int64_t begin = row * classes, end = begin + classes;
        double greatest = z(begin);
        for (std::int64_t i = begin; i < end; ++i) greatest = std::max(greatest, z(i));
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += std::exp(z(i) - greatest);
        for (std::int64_t i = begin; i < end; ++i) logp.set(i, z(i) - greatest - std::log(sum));
    }
}

void run_log_softmax_backward(const Signature& s, const KernelArgs& a) {
    const auto grad = reference::input(s, a, 0);
    const auto logp = reference::input(s, a, 1);
    const auto grad_z = reference::output(s, a, 0);
    const std::int64_t classes = grad.dim(1);
    for (std::int64_t row = 0; row < grad.dim(0); ++row) {
        const std::int64_t begin = row * classes, end = begin + classes;
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += grad(i);
        for (std::int64_t i = begin; i < end; ++i) grad_z.set(i, grad(i) - std::exp(logp(i)) * sum);
    }
}

}  // namespace

void register_log_softmax_ref(KernelTable& table) {
    table.add(reference::kernel<run_log_softmax>(log_softmax_op));
    table.add(reference::kernel<run_log_softmax_backward>(log_softmax_backward_op));
}

}  // namespace mpt
