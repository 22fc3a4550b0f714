// linear: y[M,O] = x[M,I] w[O,I]^T + bias[O]; the bias is optional (kNone) and stays f32. Sums are f32 or
// wider, rounded once to the type of x. linear_backward_data: grad_x[M,I] = grad_y[M,O] w[O,I].
// linear_backward_weight: grad_w[O,I] = grad_y[M,O]^T x[M,I], f32 whatever the type of the data.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType linear_op;
extern const OpType linear_backward_data_op;
extern const OpType linear_backward_weight_op;

ValueId linear(GraphBuilder& builder, ValueId x, ValueId w, ValueId bias, const std::string& name = "linear");
ValueId linear_backward_data(GraphBuilder& builder, ValueId grad_y, ValueId w,
                             const std::string& name = "linear.backward_data");
ValueId linear_backward_weight(GraphBuilder& builder, ValueId grad_y, ValueId x,
                               const std::string& name = "linear.backward_weight");

}  // namespace mpt
