#include "ops/sgd_update/sgd_update.h"

#include <sstream>

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    std::vector<TensorType> outputs = infer_update(kOneMoment, inputs);
    MPT_CHECK(attributes.as<SgdUpdateAttributes>().momentum == 0 || inputs[2].shape.rank() == 1,
              "momentum needs its buffer");
    return outputs;
}

}  // namespace

std::string print(const SgdUpdateAttributes& a) {
    std::ostringstream text;
    text << "momentum=" << a.momentum << (a.nesterov ? " nesterov" : "") << " weight_decay=" << a.weight_decay
         << " segments=" << a.segments.size();
    return text.str();
}

const OpType sgd_update_op = {
    .name = "sgd_update",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = update_aliases(kOneMoment),
};

std::vector<ValueId> sgd_update(GraphBuilder& builder, const SgdUpdateAttributes& attributes,
                                std::vector<ValueId> inputs, const std::string& name) {
    return builder.node(sgd_update_op, attributes, std::move(inputs), name);
}

void register_sgd_update(OpTable& table) {
    table.add(sgd_update_op);
}

}  // namespace mpt
