#include "ops/lamb_update/lamb_update.h"
#include "ops/samples.h"

namespace mpt {

// Its inputs hang together through the control block: tested step by step instead.
void register_lamb_update_samples(SampleTable& table) {
    Sample sample{"control block", &lamb_update_op, {}, {}};
    sample.tested_by = "tests/unit/optim_layerwise_test.cpp";
    table.add(sample);
}

}  // namespace mpt
