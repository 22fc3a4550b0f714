#include "ops/lars_update/lars_update.h"

#include <sstream>

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    std::vector<TensorType> outputs = infer_update(kOneMoment, inputs);
    MPT_CHECK(inputs[2].shape.rank() == 1, "lars needs its buffer");
    return outputs;
}

}  // namespace

std::string print(const LarsUpdateAttributes& a) {
    std::ostringstream text;
    text << "momentum=" << a.momentum << " weight_decay=" << a.weight_decay
         << " trust=" << a.trust_coefficient << " segments=" << a.segments.size();
    return text.str();
}

double lars_ratio(const LarsUpdateAttributes& a, double master_norm, double gradient_norm) {
    if (!(master_norm > 0) || !(gradient_norm > 0)) return 1;
    return a.trust_coefficient * master_norm / (gradient_norm + a.weight_decay * master_norm + a.epsilon);
}

const OpType lars_update_op = {
    .name = "lars_update",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = update_aliases(kOneMoment),
};

std::vector<ValueId> lars_update(GraphBuilder& builder, const LarsUpdateAttributes& attributes,
                                 std::vector<ValueId> inputs, const std::string& name) {
    return builder.node(lars_update_op, attributes, std::move(inputs), name);
}

void register_lars_update(OpTable& table) {
    table.add(lars_update_op);
}

}  // namespace mpt
