#include "ops/top_log_probabilities/top_log_probabilities.h"

#include "ops/cost.h"
#include "ops/log_softmax/log_softmax.h"

namespace mpt {

std::string print(const TopLogProbabilitiesAttributes& a) {
    std::string text = "count=" + std::to_string(a.count);
    if (a.vocabulary != 0) text += " vocabulary=" + std::to_string(a.vocabulary);
    return text;
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<TopLogProbabilitiesAttributes>();
    const Shape& z = inputs[0].shape;
    MPT_CHECK(z.rank() == 2 && a.count >= 1 && a.count <= num_classes(a.vocabulary, z[1]),
              "the " + std::to_string(a.count) + " greatest of " + to_string(z));
    const Shape top = {z[0], a.count};
    return {{top, wide_of(inputs[0].dtype)}, {top, DType::i32}};
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(4 * static_cast<double>(in[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType top_log_probabilities_op = {
    .name = "top_log_probabilities",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .cost = cost,
};

TopLogProbabilitiesOutputs top_log_probabilities(GraphBuilder& builder, ValueId z,
                                                 TopLogProbabilitiesAttributes attributes,
                                                 const std::string& name) {
    const auto out = builder.node(top_log_probabilities_op, attributes, {z}, name);
    return {out[0], out[1]};
}

void register_top_log_probabilities(OpTable& table) {
    table.add(top_log_probabilities_op);
}

}  // namespace mpt
