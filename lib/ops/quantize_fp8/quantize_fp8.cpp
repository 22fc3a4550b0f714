#include "ops/quantize_fp8/quantize_fp8.h"

#include "core/error.h"
#include "ops/quantize_fp8/scaling_rule.h"

namespace mpt {

std::string print(const QuantizeFp8Attributes& a) {
    std::string text = "to=" + std::string(name_of(a.format));
    if (a.rows) text += " rows";
    if (a.columns) text += " columns";
    if (a.margin != 0) text += " margin=" + std::to_string(a.margin);
    return text;
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<QuantizeFp8Attributes>();
    const Shape& x = inputs[0].shape;
    MPT_CHECK(x.rank() == 2 && is_float(inputs[0].dtype) && !is_fp8(inputs[0].dtype),
              "quantize_fp8 of " + to_string(x));
    MPT_CHECK(is_fp8(a.format) && (a.rows || a.columns), "quantize_fp8 to nothing");
    MPT_CHECK(inputs[1].shape.rank() == 1 && inputs[1].shape[0] > scaling::kFirstAmax,
              "quantize_fp8 without a history");
    std::vector<TensorType> outputs = {inputs[1], {{}, inputs[1].dtype}};
    if (a.rows) outputs.push_back({x, a.format});
    if (a.columns) outputs.push_back({{x[1], padded_to_16(x[0])}, a.format});
    return outputs;
}

}  // namespace

const OpType quantize_fp8_op = {
    .name = "quantize_fp8",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .must_alias = {{0, 1}},
};

namespace {

Fp8Copies quantize(GraphBuilder& builder, ValueId x, ValueId state, const Fp8Request& request,
                   const std::string& name) {
    const QuantizeFp8Attributes attributes{request.format, request.rows, request.columns, request.margin};
    const std::vector<ValueId> outputs = builder.node(quantize_fp8_op, attributes, {x, state}, name);
    Fp8Copies copies;
    copies.inverse_scale = outputs[1];
    if (request.rows) copies.rows = outputs[static_cast<std::size_t>(rows_output(attributes))];
    if (request.columns) copies.columns = outputs[static_cast<std::size_t>(columns_output(attributes))];
    return copies;
}

}  // namespace

void register_quantize_fp8(OpTable& table) {
    table.add(quantize_fp8_op);
    table.roles.quantize = quantize;
    table.roles.scaling_elements = [](std::int64_t history) { return scaling::kFirstAmax + history; };
}

}  // namespace mpt
