// Products of linear layers inside blocks (what belongs to no block, as embedding and logits, stays) are made
// of quantised copies, each tensor once, however many products read it:
//   before: y = product(x, w)
//   after:  x8 = quantised(x, state of x); w8 = quantised(w, state of w); y = fp8_product(x8, w8, scales)
// Gradients become e5m2, everything else e4m3. Places that an override names stay as it says.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "passes/precision.h"

namespace mpt {

// The states go into the builder's variable table. Returns one line per product of a block that stays as it
// was, and why.
std::vector<std::string> multiply_in_fp8(GraphBuilder& builder, const PrecisionPolicy& policy);

}  // namespace mpt
