#include "ops/gradient_check/gradient_check.h"

#include <cmath>

#include "ops/update_op.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(is_float(inputs[0].dtype) && inputs[1] == control_type(), "gradient_check of wrong types");
    return {inputs[1]};
}

}  // namespace

const OpType gradient_check_op = {
    .name = "gradient_check",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = {{0, 1}},
};

ValueId gradient_check(GraphBuilder& builder, ValueId gradient, ValueId control, const std::string& name) {
    return builder.add(gradient_check_op, {}, {gradient, control}, name);
}

StepControl checked(StepControl control, double sum_of_squares) {
    control.found_nonfinite = std::isfinite(sum_of_squares) ? 0 : 1;
    control.gradient_norm = std::sqrt(sum_of_squares) / static_cast<double>(control.loss_scale);
    return control;
}

void register_gradient_check(OpTable& table) {
    table.add(gradient_check_op);
}

}  // namespace mpt
