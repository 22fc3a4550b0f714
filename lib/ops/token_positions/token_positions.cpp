#include "ops/token_positions/token_positions.h"

#include <fmt/format.h>

#include "core/error.h"
#include "graph/op.h"

namespace mpt {

std::string print(const TokenPositionsAttributes& a) {
    return fmt::format("tokens={}", a.tokens);
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const Shape& position = inputs[0].shape;
    MPT_CHECK(position.rank() == 1 && inputs[0].dtype == DType::i32,
              "token_positions of " + to_string(position));
    return {{{position[0], attributes.as<TokenPositionsAttributes>().tokens}, DType::i32}, inputs[0]};
}

}  // namespace

const OpType token_positions_op = {
    .name = "token_positions",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
};

TokenPositionsOutputs token_positions(GraphBuilder& builder, ValueId position,
                                      TokenPositionsAttributes attributes, const std::string& name) {
    const std::vector<ValueId> outputs = builder.node(token_positions_op, attributes, {position}, name);
    return {outputs[0], outputs[1]};
}

void register_token_positions(OpTable& table) {
    table.add(token_positions_op);
}

}  // namespace mpt
