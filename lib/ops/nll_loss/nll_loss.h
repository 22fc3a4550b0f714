// nll_loss: (logp[M,V], labels i32 [M]) -> loss_sum []: the sum over rows of
//   -((1 - s) logp[label] + s / V * sum(logp)), s the label smoothing; rows with the ignored label give 0.
//   With `vocabulary` V > 0 only the first V columns are classes, the others pad the rows and get no
//   gradient.
// nll_loss_backward: (seed [], logp, labels) -> grad_logp, seed being the gradient of loss_sum.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct LossAttributes {
    double label_smoothing = 0;
    std::int64_t ignore_index = -1;
    std::int64_t vocabulary = 0;  // 0: all columns
    bool operator==(const LossAttributes&) const = default;
};
std::string print(const LossAttributes& attributes);

extern const OpType nll_loss_op;
extern const OpType nll_loss_backward_op;

ValueId nll_loss(GraphBuilder& builder, ValueId logp, ValueId labels, LossAttributes attributes = {},
                 const std::string& name = "nll_loss");
ValueId nll_loss_backward(GraphBuilder& builder, ValueId seed, ValueId logp, ValueId labels,
                          LossAttributes attributes, const std::string& name = "nll_loss.backward");

}  // namespace mpt
