// Batch norms put together again where a library was measured to be faster at the whole than our kernels at
// its parts, once no convolution has taken their sums.
#pragma once

#include "graph/op.h"

namespace mpt {

// channel_statistics(x), batch_norm_fold, channel_affine(x) or affine_add_relu(x, addend) ->
// batch_norm_add_relu
extern const Rewrite batch_norm_joins;
// channel_reductions(g, x), batch_norm_backward_fold, channel_combine(g, x) -> batch_norm_backward_fused
extern const Rewrite batch_norm_backward_joins;

}  // namespace mpt
