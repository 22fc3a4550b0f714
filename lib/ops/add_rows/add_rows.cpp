#include "ops/add_rows/add_rows.h"

#include <fmt/format.h>

namespace mpt {

std::string print(const AddRowsBackwardAttributes& a) {
    return fmt::format("num_rows={}", a.num_rows);
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& x = inputs[0].shape;
    const Shape& table = inputs[1].shape;
    MPT_CHECK(x.rank() == 3 && table.rank() == 2 && table[0] >= x[1] && table[1] == x[2],
              "add_rows of " + to_string(x) + " and " + to_string(table));
    return {inputs[0]};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    const Shape& grad = inputs[0].shape;
    const std::int64_t num_rows = attributes.as<AddRowsBackwardAttributes>().num_rows;
    MPT_CHECK(grad.rank() == 3 && num_rows >= grad[1], "add_rows_backward of " + to_string(grad));
    return {{{num_rows, grad[2]}, wide_of(inputs[0].dtype)}};
}

void differentiate(GradientContext& context) {
    if (context.wants(0)) context.set(0, context.grad());
    if (!context.wants(1)) return;
    const std::int64_t num_rows = context.builder.type(context.in(1)).shape[0];
    context.set(1, add_rows_backward(context.builder, context.grad(), {num_rows}, "backward_table"));
}

}  // namespace

const OpType add_rows_op = {
    .name = "add_rows",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .differentiate = differentiate,
    .may_alias = {{0, 0}},
};

const OpType add_rows_backward_op = {
    .name = "add_rows_backward",
    .precision = PrecisionClass::kFollow,
    .infer = infer_backward,
};

ValueId add_rows(GraphBuilder& builder, ValueId x, ValueId table, const std::string& name) {
    return builder.add(add_rows_op, {}, {x, table}, name);
}

ValueId add_rows_backward(GraphBuilder& builder, ValueId grad_y, AddRowsBackwardAttributes attributes,
                          const std::string& name) {
    return builder.add(add_rows_backward_op, attributes, {grad_y}, name);
}

void register_add_rows(OpTable& table) {
    table.add(add_rows_op);
    table.add(add_rows_backward_op);
}

}  // namespace mpt
