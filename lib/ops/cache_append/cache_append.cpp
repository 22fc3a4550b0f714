#include "ops/cache_append/cache_append.h"

namespace mpt {

void check_cache_rows(std::int64_t position, std::int64_t count, std::int64_t capacity) {
    MPT_CHECK(position >= 0 && position + count <= capacity,
              "rows " + std::to_string(position) + " to " + std::to_string(position + count) +
                  " of a cache of " + std::to_string(capacity));
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& cache = inputs[0].shape;
    const Shape& rows = inputs[1].shape;
    MPT_CHECK(cache.rank() == 5 && rows.rank() == 5 &&
                  rows == (Shape{cache[0], rows[1], cache[2], cache[3], cache[4]}) && rows[1] <= cache[1],
              "cache_append of " + to_string(rows) + " to " + to_string(cache));
    MPT_CHECK(inputs[2] == (TensorType{{cache[0]}, DType::i32}),
              "cache_append at positions that are not i32 [B]");
    return {inputs[0]};
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType>) {
    return {.flops = 0, .bytes = 2 * static_cast<double>(in[1].bytes())};
}

}  // namespace

const OpType cache_append_op = {
    .name = "cache_append",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .cost = cost,
    .must_alias = {{0, 0}},
};

ValueId cache_append(GraphBuilder& builder, ValueId cache, ValueId rows, ValueId position,
                     const std::string& name) {
    return builder.add(cache_append_op, {}, {cache, rows, position}, name);
}

void register_cache_append(OpTable& table) {
    table.add(cache_append_op);
}

}  // namespace mpt
