#include "layers/classification_loss.h"

#include "ops/log_softmax/log_softmax.h"
#include "ops/nll_loss/nll_loss.h"
#include "ops/top_k_hits/top_k_hits.h"

namespace mpt {

ClassificationLoss classification_loss(GraphBuilder& builder, ValueId logits, const LossLabels& labels,
                                       double label_smoothing) {
    const GraphBuilder::Scope scope(builder, "loss");
    const ValueId log_probabilities = log_softmax(builder, logits);
    const ValueId loss = nll_loss(builder, log_probabilities, labels, {label_smoothing});
    const TopKHitsOutputs hits = top_k_hits(builder, logits, labels.first);
    builder.output("loss_sum", loss);
    builder.output("hits1", hits.hits1);
    builder.output("hits5", hits.hits5);
    return {loss};
}

}  // namespace mpt
