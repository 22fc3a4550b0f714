// add: y = a + b, equal shapes.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType add_op;

ValueId add(GraphBuilder& builder, ValueId a, ValueId b, const std::string& name = "add");

}  // namespace mpt
