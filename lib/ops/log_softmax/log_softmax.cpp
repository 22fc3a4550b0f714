#include "ops/log_softmax/log_softmax.h"

#include "ops/cost.h"

namespace mpt {

std::string print(const LogSoftmaxAttributes& a) {
    return a.vocabulary == 0 ? "" : "vocabulary=" + std::to_string(a.vocabulary);
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape.rank() == 2, "log_softmax of " + to_string(inputs[0].shape));
    for (const TensorType& type : inputs)
        MPT_CHECK(type.shape == inputs[0].shape, "log_softmax_backward shapes differ");
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    context.set(0, log_softmax_backward(context.builder, context.grad(), context.out(),
                                        context.node.attributes.as<LogSoftmaxAttributes>(), "backward"));
}

// An exponential counts as ten.
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(13.0 * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType log_softmax_op = {
    .name = "log_softmax",
    .precision = PrecisionClass::kWide,
    .infer = infer,
    .differentiate = differentiate,
    .cost = cost,
};

const OpType log_softmax_backward_op = {
    .name = "log_softmax_backward",
    .precision = PrecisionClass::kWide,
    .infer = infer,
    .cost = cost,
    .may_alias = {{0, 0}},
};

ValueId log_softmax(GraphBuilder& builder, ValueId z, LogSoftmaxAttributes attributes,
                    const std::string& name) {
    return builder.add(log_softmax_op, attributes, {z}, name);
}

ValueId log_softmax_backward(GraphBuilder& builder, ValueId grad, ValueId logp,
                             LogSoftmaxAttributes attributes, const std::string& name) {
    return builder.add(log_softmax_backward_op, attributes, {grad, logp}, name);
}

void register_log_softmax(OpTable& table) {
    table.add(log_softmax_op);
    table.add(log_softmax_backward_op);
}

}  // namespace mpt
