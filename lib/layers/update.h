// The update as a graph of its own over whole regions: finite check and norm, the step's decision, the
// optimizer, the moving average. Everything it decides with stays on the device.
#pragma once

#include <optional>
#include <variant>

#include "graph/builder.h"
#include "ops/adam_update/adam_update.h"
#include "ops/lamb_update/lamb_update.h"
#include "ops/lars_update/lars_update.h"
#include "ops/sgd_update/sgd_update.h"
#include "optim/step_rule.h"

namespace mpt {

struct UpdateConfig {
    StepRule rule;
    std::variant<SgdUpdateAttributes, AdamUpdateAttributes, LarsUpdateAttributes, LambUpdateAttributes>
        optimizer;
    double ema = 0;  // decay; 0: no moving average
};

// Enables the moment, EMA and control regions that the update needs in the builder's variable table.
void enable_update_regions(VariableTable& variables, const UpdateConfig& config);

// Regions must be enabled. Writes the narrow copy as well when the table has one. Output: control, after the
// decision.
void build_update(GraphBuilder& builder, const UpdateConfig& config);

// The control block of the store as a value.
ValueId control_value(GraphBuilder& builder);

}  // namespace mpt
