#include "ops/samples.h"
#include "ops/sgd_update/sgd_update.h"

namespace mpt {

// Its inputs hang together through the control block: tested step by step instead.
void register_sgd_update_samples(SampleTable& table) {
    Sample sample{"control block", &sgd_update_op, {}, {}};
    sample.tested_by = "tests/unit/optim_updates_test.cpp";
    table.add(sample);
}

}  // namespace mpt
