// multiply: y = a * b element by element, two tensors of one shape and type.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType multiply_op;

ValueId multiply(GraphBuilder& builder, ValueId a, ValueId b, const std::string& name = "multiply");

}  // namespace mpt
