#include <algorithm>
#include <cmath>

#include "ops/log_softmax/log_softmax.h"
#include "ops/reference.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace mpt {

namespace {

void run_softmax_cross_entropy(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const auto z = reference::input(s, a, 0);
    const auto logsumexp = reference::output(s, a, 1);
    const std::int64_t columns = z.dim(1), classes = num_classes(attributes.vocabulary, columns);
    const double smoothing = attributes.label_smoothing;
    double loss = 0;
    for (std::int64_t row = 0; row < z.dim(0); ++row) {
        const std::int64_t begin = row * columns, end = begin + classes;
        double greatest = z(begin), sum = 0, total = 0;
        for (std::int64_t i = begin; i < end; ++i) greatest = std::max(greatest, z(i));
        for (std::int64_t i = begin; i < end; ++i) {
            sum += std::exp(z(i) - greatest);
            total += z(i);
        }
        logsumexp.set(row, greatest + std::log(sum));
        const LossTarget<double> target = reference_target(s, a, row, 1, 2);
        if (target.label == attributes.ignore_index) continue;
        MPT_CHECK(target.is_known(classes), "label " + std::to_string(target.label));
        // Differences of logits, not of logit and log-sum-exp: small losses keep their digits.
        const double mean_below = total / static_cast<double>(classes) - greatest;
        const double own =
            target.mean(z(begin + target.label) - greatest, z(begin + target.second) - greatest);
        loss += std::log(sum) - (1 - smoothing) * own - smoothing * mean_below;
    }
    reference::output(s, a, 0).set(0, loss);
}

void run_softmax_cross_entropy_backward(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const double seed = reference::input(s, a, 0)(0);
    const auto z = reference::input(s, a, 1);
    const auto logsumexp = reference::input(s, a, 3);
    const auto grad_z = reference::output(s, a, 0);
    const std::int64_t columns = z.dim(1), classes = num_classes(attributes.vocabulary, columns);
    const double smoothing = attributes.label_smoothing;
    for (std::int64_t row = 0; row < z.dim(0); ++row) {
        const LossTarget<double> target = reference_target(s, a, row, 2, 4);
        for (std::int64_t c = 0; c < columns; ++c) {
            const std::int64_t i = row * columns + c;
            const double wanted = (1 - smoothing) * target.of(c) + smoothing / static_cast<double>(classes);
            const double probability = std::exp(z(i) - logsumexp(row));
            const bool none = c >= classes || target.label == attributes.ignore_index;
            grad_z.set(i, none ? 0.0 : seed * (probability - wanted));
        }
    }
}

}  // namespace

void register_softmax_cross_entropy_ref(KernelTable& table) {
    table.add(reference::kernel<run_softmax_cross_entropy>(softmax_cross_entropy_op));
    table.add(reference::kernel<run_softmax_cross_entropy_backward>(softmax_cross_entropy_backward_op));
}

}  // namespace mpt
