#include "ops/log_softmax/log_softmax.h"
#include "ops/nll_loss/nll_loss.h"
#include "ops/reference.h"

namespace mpt {

LossTarget<double> reference_target(const Signature& s, const KernelArgs& a, std::int64_t row, int first,
                                    int second) {
    const std::int32_t label = a.in<std::int32_t>(first)[row];
    if (!s.has(second)) return {label, label, 1};
    return {label, a.in<std::int32_t>(second)[row], reference::input(s, a, second + 1)(row)};
}

namespace {

void run_nll_loss(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const auto logp = reference::input(s, a, 0);
    const std::int32_t* labels = a.in<std::int32_t>(1);
    const std::int64_t columns = logp.dim(1), classes = num_classes(attributes.vocabulary, columns);
    const double smoothing = attributes.label_smoothing;
    double loss = 0;
    for (std::int64_t row = 0; row < logp.dim(0); ++row) {
        if (labels[row] == attributes.ignore_index) continue;
        const LossTarget<double> target = reference_target(s, a, row, 1, 2);
        MPT_CHECK(target.is_known(classes), "label " + std::to_string(target.label));
        double sum = 0;
        if (smoothing != 0)
            for (std::int64_t c = 0; c < classes; ++c) sum += logp(row * columns + c);
        const double own =
            target.mean(logp(row * columns + target.label), logp(row * columns + target.second));
        loss -= (1 - smoothing) * own + smoothing / static_cast<double>(classes) * sum;
    }
    reference::output(s, a, 0).set(0, loss);
}

void run_nll_loss_backward(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const double seed = reference::input(s, a, 0)(0);
    const auto grad = reference::output(s, a, 0);
    const std::int64_t columns = grad.dim(1), classes = num_classes(attributes.vocabulary, columns);
    const double smoothing = attributes.label_smoothing;
    for (std::int64_t row = 0; row < grad.dim(0); ++row) {
        const LossTarget<double> target = reference_target(s, a, row, 2, 3);
        for (std::int64_t c = 0; c < columns; ++c) {
            const double wanted = (1 - smoothing) * target.of(c) + smoothing / static_cast<double>(classes);
            const bool none = c >= classes || target.label == attributes.ignore_index;
            grad.set(row * columns + c, none ? 0.0 : -seed * wanted);
        }
    }
}

}  // namespace

void register_nll_loss_ref(KernelTable& table) {
    table.add(reference::kernel<run_nll_loss>(nll_loss_op));
    table.add(reference::kernel<run_nll_loss_backward>(nll_loss_backward_op));
}

}  // namespace mpt
