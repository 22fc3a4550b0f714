// Adds every parameter gradient into its f32 buffer, so that micro-steps accumulate.
//   before: grad_w = ...        after: grad_w = ...; buffer_w' = buffer_w + grad_w
// The update itself (finite check, norm, decision, optimizer) is a graph of its own: layers/update.h.
#pragma once

#include "passes/differentiate.h"

namespace mpt {

void append_accumulation(GraphBuilder& builder, const std::vector<ParameterGradient>& gradients);

}  // namespace mpt
