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

std::vector<ValueId> loss_inputs(std::vector<ValueId> before, const LossLabels& labels,
                                 const std::vector<ValueId>& between) {
    std::vector<ValueId> inputs = std::move(before);
    inputs.push_back(labels.first);
    inputs.insert(inputs.end(), between.begin(), between.end());
    if (labels.second != kNone) inputs.insert(inputs.end(), {labels.second, labels.share});
    return inputs;
}

LossLabels loss_labels(const std::vector<ValueId>& inputs, std::size_t first, std::size_t second) {
    if (inputs.size() == second) return inputs[first];
    return {inputs[first], inputs[second], inputs[second + 1]};
}

LossTargets loss_targets(const Signature& signature, const KernelArgs& args, int first, int second) {
    if (!signature.has(second)) return {args.in<std::int32_t>(first), nullptr, nullptr};
    return {args.in<std::int32_t>(first), args.in<std::int32_t>(second), args.in<float>(second + 1)};
}

void check_loss_labels(std::span<const TensorType> inputs, const TensorType& logits, std::size_t first,
                       std::size_t second) {
    const TensorType& labels = inputs[first];
    MPT_CHECK(
        logits.shape.rank() == 2 && labels.shape == Shape{logits.shape[0]} && labels.dtype == DType::i32,
        "a loss of " + to_string(logits.shape) + " with labels " + to_string(labels.shape));
    const TensorType share{labels.shape, wide_of(logits.dtype)};
    MPT_CHECK(inputs.size() == second ||
                  (inputs.size() == second + 2 && inputs[second] == labels && inputs[second + 1] == share),
              "a loss of " + to_string(logits.shape) + " with second labels or shares of another shape");
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    check_loss_labels(inputs, inputs[0], 1, 2);
    return {{{}, wide_of(inputs[0].dtype)}};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> inputs) {
    check_loss_labels(inputs, inputs[1], 2, 3);
    MPT_CHECK(inputs[0].shape.rank() == 0, "the seed of a loss is a scalar");
    return {inputs[1]};
}

void differentiate(GradientContext& context) {
    context.set(0, nll_loss_backward(context.builder, context.grad(), context.in(0),
                                     loss_labels(context.node.inputs, 1, 2),
                                     context.node.attributes.as<LossAttributes>(), "backward"));
}

}  // namespace

const OpType nll_loss_op = {
    .name = "nll_loss",
    .precision = PrecisionClass::kWide,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
};

const OpType nll_loss_backward_op = {
    .name = "nll_loss_backward",
    .precision = PrecisionClass::kWide,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index == 1; },
};

ValueId nll_loss(GraphBuilder& builder, ValueId logp, const LossLabels& labels, LossAttributes attributes,
                 const std::string& name) {
    return builder.add(nll_loss_op, attributes, loss_inputs({logp}, labels), name);
}

ValueId nll_loss_backward(GraphBuilder& builder, ValueId seed, ValueId logp, const LossLabels& labels,
                          LossAttributes attributes, const std::string& name) {
    return builder.add(nll_loss_backward_op, attributes, loss_inputs({seed, logp}, labels), name);
}

void register_nll_loss(OpTable& table) {
    table.add(nll_loss_op);
    table.add(nll_loss_backward_op);
}

}  // namespace mpt
