// step_decision(control) -> control': whether this update is applied, its clip factor and learning rate, the
// loss scale of the next one, the counters. The rule is optim/step_rule.h.
#pragma once

#include "graph/builder.h"
#include "optim/step_rule.h"

namespace mpt {

struct StepDecisionAttributes {
    StepRule rule;
    bool operator==(const StepDecisionAttributes&) const = default;
};
std::string print(const StepDecisionAttributes& attributes);

extern const OpType step_decision_op;

ValueId step_decision(GraphBuilder& builder, ValueId control, const StepRule& rule,
                      const std::string& name = "step_decision");

}  // namespace mpt
