#include "ops/adam_update/adam_update.h"

#include <sstream>

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    std::vector<TensorType> outputs = infer_update(kTwoMoments, inputs);
    MPT_CHECK(inputs[2].shape.rank() == 1 && inputs[3].shape.rank() == 1, "adam needs both moments");
    return outputs;
}

}  // namespace

std::string print(const AdamUpdateAttributes& a) {
    std::ostringstream text;
    text << (a.decoupled ? "adamw" : "adam") << " beta1=" << a.beta1 << " beta2=" << a.beta2
         << " epsilon=" << a.epsilon << " weight_decay=" << a.weight_decay
         << " segments=" << a.segments.size();
    return text.str();
}

const OpType adam_update_op = {
    .name = "adam_update",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = update_aliases(kTwoMoments),
};

std::vector<ValueId> adam_update(GraphBuilder& builder, const AdamUpdateAttributes& attributes,
                                 std::vector<ValueId> inputs, const std::string& name) {
    return builder.node(adam_update_op, attributes, std::move(inputs), name);
}

void register_adam_update(OpTable& table) {
    table.add(adam_update_op);
}

}  // namespace mpt
