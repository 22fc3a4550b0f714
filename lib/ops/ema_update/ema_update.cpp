#include "ops/ema_update/ema_update.h"

#include <algorithm>
#include <sstream>

#include "ops/update_op.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0].shape == inputs[1].shape && inputs[0].dtype == DType::f32 &&
                  is_float(inputs[1].dtype) && inputs[1].dtype != DType::f64 && inputs[2] == control_type(),
              "ema_update of wrong types");
    return {inputs[0]};
}

}  // namespace

std::string print(const EmaUpdateAttributes& attributes) {
    std::ostringstream text;
    text << "decay=" << attributes.decay;
    return text.str();
}

double ema_decay(double decay, std::int64_t applied) {
    const double t = static_cast<double>(applied);
    return std::min(decay, (1 + t) / (10 + t));
}

const OpType ema_update_op = {
    .name = "ema_update",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = {{0, 0}},
};

ValueId ema_update(GraphBuilder& builder, ValueId ema, ValueId master, ValueId control, double decay,
                   const std::string& name) {
    return builder.add(ema_update_op, EmaUpdateAttributes{decay}, {ema, master, control}, name);
}

void register_ema_update(OpTable& table) {
    table.add(ema_update_op);
}

}  // namespace mpt
