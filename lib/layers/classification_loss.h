// Mean-free loss and hit counts of a classifier: sums over the batch, so that windows of any size can be
// averaged.
#pragma once

#include "graph/builder.h"
#include "ops/nll_loss/nll_loss.h"

namespace mpt {

struct ClassificationLoss {
    ValueId loss_sum = kNone;
};

// logits[M,V], labels i32 [M], of mixed samples two of them; hits are those of the first. Adds the graph
// outputs "loss_sum" (f32), "hits1" and "hits5" (i32).
ClassificationLoss classification_loss(GraphBuilder& builder, ValueId logits, const LossLabels& labels,
                                       double label_smoothing);

}  // namespace mpt
