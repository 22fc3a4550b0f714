// softmax_cross_entropy: (z[M,V], labels i32 [M]) -> loss_sum [], logsumexp [M]: log_softmax then nll_loss,
// without storing the probabilities. Arithmetic and results are f32 or wider; z may be narrow (fused with a
// cast). softmax_cross_entropy_backward: (seed [], z, labels, logsumexp) -> grad_z, of the type of z:
//   grad_z = seed * (exp(z - logsumexp) - (1 - s) onehot(label) - s / V), 0 in rows with the ignored label.
// Mixed samples have a second label and the share of the first, as in nll_loss: two inputs more, at the end.
// With `vocabulary` V > 0 only the first V columns are classes; the others have probability and gradient 0.
// decompose() of the forward op gives kNone for logsumexp: the plain form has no such value, and the plain
// form of the backward op does not need it.
#pragma once

#include "ops/nll_loss/nll_loss.h"

namespace mpt {

extern const OpType softmax_cross_entropy_op;
extern const OpType softmax_cross_entropy_backward_op;

struct SoftmaxCrossEntropyOutputs {
    ValueId loss_sum, logsumexp;
};
SoftmaxCrossEntropyOutputs softmax_cross_entropy(GraphBuilder& builder, ValueId z, const LossLabels& labels,
                                                 LossAttributes attributes = {},
                                                 const std::string& name = "softmax_cross_entropy");

struct SoftmaxCrossEntropyBackwardInputs {
    ValueId seed, z;
    LossLabels labels;
    ValueId logsumexp;
};
ValueId softmax_cross_entropy_backward(GraphBuilder& builder, const SoftmaxCrossEntropyBackwardInputs& inputs,
                                       LossAttributes attributes,
                                       const std::string& name = "softmax_cross_entropy.backward");

}  // namespace mpt
