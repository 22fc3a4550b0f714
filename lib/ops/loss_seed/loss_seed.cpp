#include "ops/loss_seed/loss_seed.h"

#include "core/error.h"
#include "optim/step_control.h"

namespace mpt {

namespace {

std::vector<TensorType> infer_loss_seed(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[1].bytes() == static_cast<std::int64_t>(sizeof(StepControl)),
              "loss_seed needs the control block");
    return {inputs[0]};
}

}  // namespace

const OpType loss_seed_op = {
    .name = "loss_seed",
    .precision = PrecisionClass::kFixed,
    .infer = infer_loss_seed,
};

ValueId loss_seed(GraphBuilder& builder, ValueId weight, ValueId control, const std::string& name) {
    return builder.add(loss_seed_op, {}, {weight, control}, name);
}

void register_loss_seed(OpTable& table) {
    table.add(loss_seed_op);
}

}  // namespace mpt
