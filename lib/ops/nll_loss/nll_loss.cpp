#include "ops/nll_loss/nll_loss.h"

#include <fmt/format.h>

#include "ops/cost.h"

namespace mpt {

std::string print(const LossAttributes& a) {
    std::string text = a.label_smoothing == 0 ? "" : fmt::format("label_smoothing={}", a.label_smoothing);
    if (a.ignore_index != -1)
        text += fmt::format("{}ignore_index={}", text.empty() ? "" : " ", a.ignore_index);
    if (a.vocabulary != 0) text += fmt::format("{}vocabulary={}", text.empty() ? "" : " ", a.vocabulary);
    return text;
}

namespace {

void check_labels(const TensorType& logits, const TensorType& labels) {
    MPT_CHECK(
        logits.shape.rank() == 2 && labels.shape == Shape{logits.shape[0]} && labels.dtype == DType::i32,
        "a loss of " + to_string(logits.shape) + " with labels " + to_string(labels.shape));
}

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    check_labels(inputs[0], inputs[1]);
    return {{{}, wide_of(inputs[0].dtype)}};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> inputs) {
    check_labels(inputs[1], inputs[2]);
    MPT_CHECK(inputs[0].shape.rank() == 0, "the seed of a loss is a scalar");
    return {inputs[1]};
}

void differentiate(GradientContext& context) {
    context.set(0, nll_loss_backward(context.builder, context.grad(), context.in(0), context.in(1),
                                     context.node.attributes.as<LossAttributes>(), "backward"));
}

}  // namespace

const OpType nll_loss_op = {
    .name = "nll_loss",
    .precision = PrecisionClass::kWide,
    .infer = infer,
    .differentiate = differentiate,
};

const OpType nll_loss_backward_op = {
    .name = "nll_loss_backward",
    .precision = PrecisionClass::kWide,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index == 1; },
};

ValueId nll_loss(GraphBuilder& builder, ValueId logp, ValueId labels, LossAttributes attributes,
                 const std::string& name) {
    return builder.add(nll_loss_op, attributes, {logp, labels}, name);
}

ValueId nll_loss_backward(GraphBuilder& builder, ValueId seed, ValueId logp, ValueId labels,
                          LossAttributes attributes, const std::string& name) {
    return builder.add(nll_loss_backward_op, attributes, {seed, logp, labels}, name);
}

void register_nll_loss(OpTable& table) {
    table.add(nll_loss_op);
    table.add(nll_loss_backward_op);
}

}  // namespace mpt
