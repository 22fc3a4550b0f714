// relu: y = max(0, x), any shape. NaN stays NaN.
// relu_backward: grad_x = y > 0 ? grad_y : 0, from the output, so that the input need not be kept.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType relu_op;
extern const OpType relu_backward_op;

ValueId relu(GraphBuilder& builder, ValueId x, const std::string& name = "relu");
ValueId relu_backward(GraphBuilder& builder, ValueId grad_y, ValueId y,
                      const std::string& name = "relu.backward");

}  // namespace mpt
