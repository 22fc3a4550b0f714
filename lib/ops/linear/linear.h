// linear: (x[M,I], w[O,I], bias? [O] f32) -> y = f(x) w^T + bias [M,O]; f is an activation that a rewrite
// took in (of_input), so that f(x) is never stored. Its gradients:
//   linear_backward_data:   (grad_y, w, x?) -> grad_x = (grad_y w) f'(x); x is given where there is an f
//   linear_backward_weight: (grad_y, x) -> grad_w = grad_y^T f(x), f32
//   linear_backward_weight_accumulate: (buffer f32, grad_y, x) -> buffer + grad_w, in the memory of buffer
//   linear_backward_weight_bias_accumulate: the same and grad_bias, f32 [O], for backends whose product sums
//   the rows of grad_y in passing
// Otherwise the gradient of the bias is sum_rows(grad_y).
#pragma once

#include "core/pointwise.h"
#include "graph/builder.h"

namespace mpt {

struct LinearAttributes {
    Pointwise of_input = Pointwise::kIdentity;
    bool operator==(const LinearAttributes&) const = default;
};
std::string print(const LinearAttributes& attributes);

extern const OpType linear_op;
extern const OpType linear_backward_data_op;
extern const OpType linear_backward_weight_op;
extern const OpType linear_backward_weight_accumulate_op;
extern const OpType linear_backward_weight_bias_accumulate_op;

ValueId linear(GraphBuilder& builder, ValueId x, ValueId w, ValueId bias = kNone,
               const std::string& name = "linear");
ValueId linear_backward_data(GraphBuilder& builder, ValueId grad_y, ValueId w,
                             const std::string& name = "linear.backward_data");
ValueId linear_backward_weight(GraphBuilder& builder, ValueId grad_y, ValueId x,
                               const std::string& name = "linear.backward_weight");

}  // namespace mpt
