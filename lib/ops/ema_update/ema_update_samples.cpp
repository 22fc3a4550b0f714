#include "ops/ema_update/ema_update.h"
#include "ops/samples.h"

namespace mpt {

// Its inputs hang together through the control block: tested step by step instead.
void register_ema_update_samples(SampleTable& table) {
    Sample sample{"control block", &ema_update_op, {}, {}};
    sample.tested_by = "tests/unit/optim_updates_test.cpp";
    table.add(sample);
}

}  // namespace mpt
