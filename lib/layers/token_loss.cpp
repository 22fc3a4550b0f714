#include "layers/token_loss.h"

#include "ops/log_softmax/log_softmax.h"
#include "ops/nll_loss/nll_loss.h"

namespace mpt {

ValueId token_loss(GraphBuilder& builder, ValueId logits, ValueId targets, const TokenLossConfig& config) {
    const GraphBuilder::Scope scope(builder, "loss");
    const bool padded = builder.type(logits).shape[-1] != config.vocabulary;
    const std::int64_t vocabulary = padded ? config.vocabulary : 0;
    const ValueId log_probabilities = log_softmax(builder, logits, {vocabulary});
    LossAttributes attributes;
    attributes.label_smoothing = config.label_smoothing;
    attributes.vocabulary = vocabulary;
    const ValueId loss = nll_loss(builder, log_probabilities, targets, attributes);
    builder.output("loss_sum", loss);
    return loss;
}

}  // namespace mpt
