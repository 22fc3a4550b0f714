// silu: y = x / (1 + exp(-x)), any shape; f32 or wider arithmetic whatever the type of x.
// silu_backward: (grad_y, x) -> grad_x.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType silu_op;
extern const OpType silu_backward_op;

ValueId silu(GraphBuilder& builder, ValueId x, const std::string& name = "silu");
ValueId silu_backward(GraphBuilder& builder, ValueId grad_y, ValueId x,
                      const std::string& name = "silu.backward");

}  // namespace mpt
