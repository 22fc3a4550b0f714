// gradient_check(gradient[E], control) -> control': sets control.gradient_norm, the 2-norm of the unscaled
// gradient, and control.found_nonfinite. One pass, sums in f64: squares of finite f32 values cannot overflow
// it, so the sum is finite exactly when every element is. The gradient is f32, f16 or bf16.
#pragma once

#include "graph/builder.h"
#include "optim/step_control.h"

namespace mpt {

extern const OpType gradient_check_op;

ValueId gradient_check(GraphBuilder& builder, ValueId gradient, ValueId control,
                       const std::string& name = "gradient_check");

// What the kernels of all backends write, from the sum of squares of the scaled gradient.
StepControl checked(StepControl control, double sum_of_squares);

}  // namespace mpt
