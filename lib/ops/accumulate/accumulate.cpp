#include "ops/accumulate/accumulate.h"

#include "ops/accumulate/rewrites.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape && !is_narrow(inputs[0].dtype) && is_float(inputs[1].dtype),
              "accumulate of " + to_string(inputs[1].shape) + " into " + to_string(inputs[0].shape));
    return {inputs[0]};
}

}  // namespace

const OpType accumulate_op = {
    .name = "accumulate",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = {{0, 0}},
};

ValueId accumulate(GraphBuilder& builder, ValueId buffer, ValueId grad, const std::string& name) {
    return builder.add(accumulate_op, {}, {buffer, grad}, name);
}

void register_accumulate(OpTable& table) {
    table.add(accumulate_op);
    table.add(accumulate_splits_sum);
    table.roles.accumulate = accumulate;
}

}  // namespace mpt
