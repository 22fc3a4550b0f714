#include "ops/samples.h"
#include "ops/step_decision/step_decision.h"

namespace mpt {

// Its inputs hang together through the control block: tested step by step instead.
void register_step_decision_samples(SampleTable& table) {
    Sample sample{"control block", &step_decision_op, {}, {}};
    sample.tested_by = "tests/unit/optim_step_rule_test.cpp";
    table.add(sample);
}

}  // namespace mpt
