#include "ops/lamb_update/lamb_update.h"

#include <sstream>

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    std::vector<TensorType> outputs = infer_update(kTwoMoments, inputs);
    MPT_CHECK(inputs[2].shape.rank() == 1 && inputs[3].shape.rank() == 1, "lamb needs both moments");
    return outputs;
}

}  // namespace

std::string print(const LambUpdateAttributes& a) {
    std::ostringstream text;
    text << "beta1=" << a.beta1 << " beta2=" << a.beta2 << " epsilon=" << a.epsilon
         << " weight_decay=" << a.weight_decay << " segments=" << a.segments.size();
    return text.str();
}

double lamb_ratio(double master_norm, double update_norm) {
    return master_norm > 0 && update_norm > 0 ? master_norm / update_norm : 1;
}

const OpType lamb_update_op = {
    .name = "lamb_update",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = update_aliases(kTwoMoments),
};

std::vector<ValueId> lamb_update(GraphBuilder& builder, const LambUpdateAttributes& attributes,
                                 std::vector<ValueId> inputs, const std::string& name) {
    return builder.node(lamb_update_op, attributes, std::move(inputs), name);
}

void register_lamb_update(OpTable& table) {
    table.add(lamb_update_op);
}

}  // namespace mpt
