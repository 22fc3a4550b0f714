#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

#include "ops/cast/cast.h"
#include "ops/cost.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/softmax_cross_entropy/rewrites.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    check_loss_labels(inputs, inputs[0], 1, 2);
    const DType wide = wide_of(inputs[0].dtype);
    return {{{}, wide}, {inputs[1].shape, wide}};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> inputs) {
    check_loss_labels(inputs, inputs[1], 2, 4);
    MPT_CHECK(inputs[0].shape.rank() == 0 && inputs[3].shape == inputs[2].shape,
              "softmax_cross_entropy_backward with a seed or logsumexp of the wrong shape");
    return {inputs[1]};
}

void differentiate(GradientContext& context) {
    context.set(0, softmax_cross_entropy_backward(context.builder,
                                                  {context.grad(), context.in(0),
                                                   loss_labels(context.node.inputs, 1, 2), context.out(1)},
                                                  context.node.attributes.as<LossAttributes>(), "backward"));
}

ValueId widened(GraphBuilder& b, ValueId z, const std::string& name) {
    const DType type = b.type(z).dtype;
    return is_narrow(type) ? cast(b, z, {wide_of(type)}, name + ".widen") : z;
}

std::vector<ValueId> decompose(GraphBuilder& b, const Node& node) {
    const auto& attributes = node.attributes.as<LossAttributes>();
    const ValueId logp = log_softmax(b, widened(b, node.inputs[0], node.name), {attributes.vocabulary},
                                     node.name + ".log_softmax");
    return {nll_loss(b, logp, loss_labels(node.inputs, 1, 2), attributes, node.name + ".nll_loss"), kNone};
}

std::vector<ValueId> decompose_backward(GraphBuilder& b, const Node& node) {
    const ValueId z = node.inputs[1];
    const DType type = b.type(z).dtype;
    const auto& attributes = node.attributes.as<LossAttributes>();
    const ValueId logp =
        log_softmax(b, widened(b, z, node.name), {attributes.vocabulary}, node.name + ".log_softmax");
    const ValueId grad_logp = nll_loss_backward(b, node.inputs[0], logp, loss_labels(node.inputs, 2, 4),
                                                attributes, node.name + ".nll_loss");
    const ValueId grad_z = log_softmax_backward(b, grad_logp, logp, {attributes.vocabulary},
                                                node.name + ".log_softmax_backward");
    return {is_narrow(type) ? cast(b, grad_z, {type}, node.name + ".narrow") : grad_z};
}

// An exponential counts as ten.
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(13.0 * static_cast<double>(in[0].shape.num_elements()), in, out);
}
Cost cost_backward(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(13.0 * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType softmax_cross_entropy_op = {
    .name = "softmax_cross_entropy",
    .precision = PrecisionClass::kWide,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost,
    .decompose = decompose,
};

const OpType softmax_cross_entropy_backward_op = {
    .name = "softmax_cross_entropy_backward",
    .precision = PrecisionClass::kWide,
    .infer = infer_backward,
    .is_data_input = [](const Attributes&, int index) { return index == 1; },
    .cost = cost_backward,
    .may_alias = {{0, 1}},
    .decompose = decompose_backward,
};

SoftmaxCrossEntropyOutputs softmax_cross_entropy(GraphBuilder& builder, ValueId z, const LossLabels& labels,
                                                 LossAttributes attributes, const std::string& name) {
    const auto out = builder.node(softmax_cross_entropy_op, attributes, loss_inputs({z}, labels), name);
    return {out[0], out[1]};
}

ValueId softmax_cross_entropy_backward(GraphBuilder& builder, const SoftmaxCrossEntropyBackwardInputs& in,
                                       LossAttributes attributes, const std::string& name) {
    return builder.add(softmax_cross_entropy_backward_op, attributes,
                       loss_inputs({in.seed, in.z}, in.labels, {in.logsumexp}), name);
}

void register_softmax_cross_entropy(OpTable& table) {
    table.add(softmax_cross_entropy_op);
    table.add(softmax_cross_entropy_backward_op);
    table.add(log_softmax_takes_nll_loss);
    table.add(softmax_cross_entropy_takes_casts);
}

}  // namespace mpt
