#include "ops/dropout/dropout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/cost.h"

namespace mpt {

std::string print(const DropoutAttributes& a) {
    return fmt::format("probability={} seed={} stream={}", a.probability, a.seed, a.stream);
}

std::uint32_t dropout_threshold(const DropoutAttributes& attributes) {
    return static_cast<std::uint32_t>(std::min(std::round(attributes.probability * 0x1p32), 0x1p32 - 1));
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const double probability = attributes.as<DropoutAttributes>().probability;
    MPT_CHECK(probability >= 0 && probability < 1, "dropout with probability " + std::to_string(probability));
    MPT_CHECK((inputs[1] == TensorType{{}, DType::i32}), "dropout with a step that is not i32 []");
    return {inputs[0]};
}

void differentiate(GradientContext& context) {
    context.set(0, dropout(context.builder, context.grad(), context.in(1),
                           context.node.attributes.as<DropoutAttributes>(), "backward"));
}

// Ten rounds of about ten operations make four numbers.
Cost cost(const Attributes&, std::span<const TensorType> in, std::span<const TensorType> out) {
    return cost_with_flops(26 * static_cast<double>(out[0].shape.num_elements()), in, out);
}

}  // namespace

const OpType dropout_op = {
    .name = "dropout",
    .precision = PrecisionClass::kFollow,
    .infer = infer,
    .is_data_input = [](const Attributes&, int index) { return index == 0; },
    .differentiate = differentiate,
    .cost = cost,
    .may_alias = {{0, 0}},
};

ValueId dropout(GraphBuilder& builder, ValueId x, ValueId step, DropoutAttributes attributes,
                const std::string& name) {
    return builder.add(dropout_op, attributes, {x, step}, name);
}

void register_dropout(OpTable& table) {
    table.add(dropout_op);
}

}  // namespace mpt
