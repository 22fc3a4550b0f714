// linear_gelu: (x[M,I], w[O,I], bias? [O] f32) -> y = gelu(u) in the tanh form, u = x w^T + bias, both [M,O]:
// u is what the gradient is taken at. For backends whose product takes gelu in passing.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType linear_gelu_op;

// gelu(linear(x, w, bias)) of the tanh form, where the gradient keeps what gelu is of -> linear_gelu
extern const Rewrite linear_takes_gelu;

}  // namespace mpt
