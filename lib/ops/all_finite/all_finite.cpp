#include "ops/all_finite/all_finite.h"

#include "core/error.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(!inputs.empty() && inputs.size() <= kMostFiniteInputs, "all_finite takes 1 to 64 inputs");
    for (const TensorType& input : inputs)
        MPT_CHECK(input.dtype == DType::f32 || input.dtype == DType::f64, "all_finite looks at f32");
    return {{{}, DType::i32}};
}

}  // namespace

const OpType all_finite_op = {
    .name = "all_finite",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
};

ValueId all_finite(GraphBuilder& builder, std::vector<ValueId> values, const std::string& name) {
    return builder.add(all_finite_op, {}, std::move(values), name);
}

void register_all_finite(OpTable& table) {
    table.add(all_finite_op);
}

}  // namespace mpt
