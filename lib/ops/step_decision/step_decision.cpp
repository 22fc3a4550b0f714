#include "ops/step_decision/step_decision.h"

#include <sstream>

#include "ops/update_op.h"

namespace mpt {

namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> inputs) {
    MPT_CHECK(inputs[0] == control_type(), "step_decision needs the control block");
    return {inputs[0]};
}

const char* name_of(ScheduleSpec::Type type) {
    switch (type) {
        case ScheduleSpec::Type::kConstant:
            return "constant";
        case ScheduleSpec::Type::kStep:
            return "step";
        case ScheduleSpec::Type::kCosine:
            return "cosine";
        case ScheduleSpec::Type::kPoly:
            return "poly";
        case ScheduleSpec::Type::kLinear:
            return "linear";
        case ScheduleSpec::Type::kInverseSqrt:
            return "inverse_sqrt";
    }
    return "?";
}

}  // namespace

std::string print(const StepDecisionAttributes& attributes) {
    const StepRule& rule = attributes.rule;
    std::ostringstream text;
    text << "loss_scale=" << (rule.loss_scale.dynamic ? "dynamic" : "static") << ':' << rule.loss_scale.init
         << " schedule=" << name_of(rule.schedule.type) << " lr=" << rule.schedule.base
         << " warmup=" << rule.schedule.warmup << " length=" << rule.schedule.length;
    if (rule.clip_norm > 0) text << " clip_norm=" << rule.clip_norm;
    return text.str();
}

const OpType step_decision_op = {
    .name = "step_decision",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .must_alias = {{0, 0}},
};

ValueId step_decision(GraphBuilder& builder, ValueId control, const StepRule& rule, const std::string& name) {
    return builder.add(step_decision_op, StepDecisionAttributes{rule}, {control}, name);
}

void register_step_decision(OpTable& table) {
    table.add(step_decision_op);
}

}  // namespace mpt
