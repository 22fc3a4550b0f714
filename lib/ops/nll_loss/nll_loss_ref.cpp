#include "ops/log_softmax/log_softmax.h"
#include "ops/nll_loss/nll_loss.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_nll_loss(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const auto logp = reference::input(s, a, 0);
    const std::int32_t* labels = a.in<std::int32_t>(1);
    const std::int64_t columns = logp.dim(1), classes = num_classes(attributes.vocabulary, columns);
    const double smoothing = attributes.label_smoothing;
    double loss = 0;
    for (std::int64_t row = 0; row < logp.dim(0); ++row) {
        const std::int64_t label = labels[row];
        if (label == attributes.ignore_index) continue;
        MPT_CHECK(label >= 0 && label < classes, "label " + std::to_string(label));
        double sum = 0;
        if (smoothing != 0)
            for (std::int64_t c = 0; c < classes; ++c) sum += logp(row * columns + c);
        loss -=
            (1 - smoothing) * logp(row * columns + label) + smoothing / static_cast<double>(classes) * sum;
    }
    reference::output(s, a, 0).set(0, loss);
}

void run_nll_loss_backward(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const double seed = reference::input(s, a, 0)(0);
    const std::int32_t* labels = a.in<std::int32_t>(2);
    const auto grad = reference::output(s, a, 0);
    const std::int64_t columns = grad.dim(1), classes = num_classes(attributes.vocabulary, columns);
    const double smoothing = attributes.label_smoothing;
    for (std::int64_t row = 0; row < grad.dim(0); ++row)
        for (std::int64_t c = 0; c < columns; ++c) {
            const std::int64_t label = labels[row];
            const double target =
                (c == label ? 1 - smoothing : 0.0) + smoothing / static_cast<double>(classes);
            const bool none = c >= classes || label == attributes.ignore_index;
            grad.set(row * columns + c, none ? 0.0 : -seed * target);
        }
}

}  // namespace

void register_nll_loss_ref(KernelTable& table) {
    table.add(reference::kernel<run_nll_loss>(nll_loss_op));
    table.add(reference::kernel<run_nll_loss_backward>(nll_loss_backward_op));
}

}  // namespace mpt
