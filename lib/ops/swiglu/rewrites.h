#pragma once

#include "graph/op.h"

namespace mpt {

// multiply(silu(gate), up) and its gradients -> swiglu(gate, up) and its gradient
extern const Rewrite multiply_takes_silu;

}  // namespace mpt
