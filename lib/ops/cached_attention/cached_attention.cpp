#include "ops/cached_attention/cached_attention.h"

#include "ops/cost.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& q = inputs[0].shape;
    const Shape& cache = inputs[1].shape;
    MPT_CHECK(q.rank() == 4 && cache.rank() == 5 && cache == (Shape{q[0], cache[1], 2, q[2], q[3]}),
              "cached_attention of " + to_string(q) + " over " + to_string(cache));
    MPT_CHECK(inputs[2] == (TensorType{{q[0]}, DType::i32}),
              "cached_attention with lengths that are not i32 [B]");
    return {inputs[0]};
}

// Of a full cache: two products of two flops a multiply-add, an exponential counts as ten.
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    const Shape& q = in[0].shape;
    const double pairs = static_cast<double>(q[0] * q[1] * q[2]) * static_cast<double>(in[1].shape[1]);
    return cost_with_flops(pairs * (4 * static_cast<double>(q[3]) + 13), in, out);
}

}  // namespace

const OpType cached_attention_op = {
    .name = "cached_attention",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .cost = cost,
};

ValueId cached_attention(GraphBuilder& builder, ValueId q, ValueId cache, ValueId lengths,
                         const std::string& name) {
    return builder.add(cached_attention_op, {}, {q, cache, lengths}, name);
}

void register_cached_attention(OpTable& table) {
    table.add(cached_attention_op);
}

}  // namespace mpt
