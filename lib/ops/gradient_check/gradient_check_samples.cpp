#include "ops/gradient_check/gradient_check.h"
#include "ops/samples.h"

namespace mpt {

// Its inputs hang together through the control block: tested step by step instead.
void register_gradient_check_samples(SampleTable& table) {
    Sample sample{"control block", &gradient_check_op, {}, {}};
    sample.tested_by = "tests/unit/optim_gradient_check_test.cpp";
    table.add(sample);
}

}  // namespace mpt
