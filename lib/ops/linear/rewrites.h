#pragma once

#include "graph/op.h"

namespace mpt {

// linear(f(x)) and its weight gradient -> the same of x with of_input f, where nothing else needs f(x).
extern const Rewrite linear_takes_activation;
// f_backward(linear_backward_data(grad_y, w), x) -> linear_backward_data(grad_y, w, x) with of_input f
extern const Rewrite linear_backward_data_takes_activation;
// accumulate(buffer, linear_backward_weight(...)) -> linear_backward_weight_accumulate(buffer, ...)
extern const Rewrite linear_backward_weight_takes_accumulate;
// sum_rows(grad_y) and linear_backward_weight_accumulate(buffer, grad_y, x), where the backend does both at
// once
// -> linear_backward_weight_bias_accumulate(buffer, grad_y, x)
extern const Rewrite linear_backward_weight_takes_bias;

}  // namespace mpt
