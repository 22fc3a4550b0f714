#include "ops/top_k_hits/top_k_hits.h"

#include "ops/cost.h"

namespace mpt {

std::string print(const TopKHitsAttributes& a) {
    return a.ignore_index == -1 ? std::string() : "ignore_index=" + std::to_string(a.ignore_index);
}

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    const Shape& z = inputs[0].shape;
    MPT_CHECK(z.rank() == 2 && inputs[1].shape == Shape{z[0]} && inputs[1].dtype == DType::i32,
              "top_k_hits of " + to_string(z) + " with labels " + to_string(inputs[1].shape));
    return {{{}, DType::i32}, {{}, DType::i32}};
}

Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(static_cast<double>(in[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType top_k_hits_op = {
    .name = "top_k_hits",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .cost = cost,
};

TopKHitsOutputs top_k_hits(GraphBuilder& builder, ValueId z, ValueId labels, TopKHitsAttributes attributes,
                           const std::string& name) {
    const auto out = builder.node(top_k_hits_op, attributes, {z, labels}, name);
    return {out[0], out[1]};
}

void register_top_k_hits(OpTable& table) {
    table.add(top_k_hits_op);
}

}  // namespace mpt
