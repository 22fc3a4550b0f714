#include "ops/sum_rows/sum_rows.h"

#include "ops/cost.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    MPT_CHECK(x.rank() == 2, "sum_rows of " + to_string(x));
    return {{{x[1]}, wide_of(inputs[0].dtype)}};
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(static_cast<double>(in[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType sum_rows_op = {
    .name = "sum_rows",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .cost = cost,
};

ValueId sum_rows(GraphBuilder& builder, ValueId x, const std::string& name) {
    return builder.add(sum_rows_op, {}, {x}, name);
}

void register_sum_rows(OpTable& table) {
    table.add(sum_rows_op);
}

}  // namespace mpt
