// swiglu: (gate, up) -> y = silu(gate) up, of one shape (Shazeer 2020, arXiv:2002.05202), without storing
// silu(gate). swiglu_backward: (grad_y, gate, up) -> grad_gate, grad_up.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType swiglu_op;
extern const OpType swiglu_backward_op;

}  // namespace mpt
