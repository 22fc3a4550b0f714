// accumulate: buffer += grad, in place; the buffer is f32, grad of any floating type and the same shape.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType accumulate_op;

ValueId accumulate(GraphBuilder& builder, ValueId buffer, ValueId grad,
                   const std::string& name = "accumulate");

}  // namespace mpt
