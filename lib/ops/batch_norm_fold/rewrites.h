// Batch norm of images in three parts: sums over the data, a fold of vectors, one pass over the data. Sums
// and passes then move into the convolutions around it.
#pragma once

#include "graph/op.h"

namespace mpt {

// batch_norm -> channel_statistics, batch_norm_fold, channel_affine
extern const Rewrite batch_norm_split;
// batch_norm_inference -> batch_norm_inference_fold, channel_affine
extern const Rewrite batch_norm_inference_split;
// batch_norm_backward -> channel_reductions, batch_norm_backward_fold, channel_combine
extern const Rewrite batch_norm_backward_split;

}  // namespace mpt
