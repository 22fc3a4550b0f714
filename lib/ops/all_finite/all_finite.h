// all_finite(a f32, b f32, ...) -> i32 []: 1 when every element of every input is finite, else 0. A
// micro-step leaves it over its small gradients, so that whoever accumulates knows which one went wrong.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace mpt {

extern const OpType all_finite_op;
inline constexpr int kMostFiniteInputs = 64;  // of one node: kernels take a table of addresses by value

ValueId all_finite(GraphBuilder& builder, std::vector<ValueId> values,
                   const std::string& name = "all_finite");

}  // namespace mpt
