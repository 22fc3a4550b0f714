// sum_rows: y[O] = sum over m of x[M,O], f32 whatever the type of the data: the gradient of a bias.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType sum_rows_op;

ValueId sum_rows(GraphBuilder& builder, ValueId x, const std::string& name = "sum_rows");

}  // namespace mpt
