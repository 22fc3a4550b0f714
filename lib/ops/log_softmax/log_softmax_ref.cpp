#include <algorithm>
#include <cmath>

#include "ops/log_softmax/log_softmax.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_log_softmax(const Signature& s, const KernelArgs& a) {
    const auto z = reference::input(s, a, 0);
    const auto logp = reference::output(s, a, 0);
    const std::int64_t columns = z.dim(1);
    const std::int64_t classes = num_classes(s.attributes.as<LogSoftmaxAttributes>().vocabulary, columns);
    for (std::int64_t row = 0; row < z.dim(0); ++row) {
        const std::int64_t begin = row * columns, end = begin + classes;
        double greatest = z(begin);
        for (std::int64_t i = begin; i < end; ++i) greatest = std::max(greatest, z(i));
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += std::exp(z(i) - greatest);
        for (std::int64_t i = begin; i < end; ++i) logp.set(i, z(i) - greatest - std::log(sum));
        for (std::int64_t i = end; i < begin + columns; ++i) logp.set(i, kNoLogProbability);
    }
}

void run_log_softmax_backward(const Signature& s, const KernelArgs& a) {
    const auto grad = reference::input(s, a, 0);
    const auto logp = reference::input(s, a, 1);
    const auto grad_z = reference::output(s, a, 0);
    const std::int64_t columns = grad.dim(1);
    const std::int64_t classes = num_classes(s.attributes.as<LogSoftmaxAttributes>().vocabulary, columns);
    for (std::int64_t row = 0; row < grad.dim(0); ++row) {
        const std::int64_t begin = row * columns, end = begin + classes;
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += grad(i);
        for (std::int64_t i = begin; i < end; ++i) grad_z.set(i, grad(i) - std::exp(logp(i)) * sum);
        for (std::int64_t i = end; i < begin + columns; ++i) grad_z.set(i, 0);
    }
}

}  // namespace

void register_log_softmax_ref(KernelTable& table) {
    table.add(reference::kernel<run_log_softmax>(log_softmax_op));
    table.add(reference::kernel<run_log_softmax_backward>(log_softmax_backward_op));
}

}  // namespace mpt
