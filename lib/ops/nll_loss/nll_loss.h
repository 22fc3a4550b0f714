// nll_loss: (logp[M,V], labels i32 [M]) -> loss_sum []: the sum over rows of
//   -((1 - s) logp[label] + s / V * sum(logp)), s the label smoothing; rows with the ignored label give 0.
//   With `vocabulary` V > 0 only the first V columns are classes, the others pad the rows and get no
//   gradient.
//   Mixed samples have a second label and the share [M] (f32) of the first: two further inputs. Their loss is
//   share * that of the label + (1 - share) * that of the second label.
// nll_loss_backward: (seed [], logp, labels; second, share) -> grad_logp, seed being the gradient of
// loss_sum.
#pragma once

#include "graph/builder.h"
#include "graph/kernel.h"
#include "ops/nll_loss/loss_target.h"

namespace mpt {

struct LossAttributes {
    double label_smoothing = 0;
    std::int64_t ignore_index = -1;
    std::int64_t vocabulary = 0;  // 0: all columns
    bool operator==(const LossAttributes&) const = default;
};
std::string print(const LossAttributes& attributes);

// The targets of a loss: a label a row, or two with the share of the first.
struct LossLabels {
    LossLabels(ValueId of_rows, ValueId second_of_rows = kNone, ValueId share_of_first = kNone)
        : first(of_rows), second(second_of_rows), share(share_of_first) {}
    ValueId first, second, share;
    bool operator==(const LossLabels&) const = default;
};
// The inputs of a loss's node: `before`, the first labels, `between`, then what mixed samples have besides.
std::vector<ValueId> loss_inputs(std::vector<ValueId> before, const LossLabels& labels,
                                 const std::vector<ValueId>& between = {});
// Checks the labels among the types of a loss's inputs, `first` and, of mixed samples, from `second` on.
void check_loss_labels(std::span<const TensorType> inputs, const TensorType& logits, std::size_t first,
                       std::size_t second);
// The same for a kernel that stores f32.
LossTargets loss_targets(const Signature& signature, const KernelArgs& args, int first, int second);
// The same of one row, whatever is stored.
LossTarget<double> reference_target(const Signature& signature, const KernelArgs& args, std::int64_t row,
                                    int first, int second);
// The labels among the values of such a node.
LossLabels loss_labels(const std::vector<ValueId>& inputs, std::size_t first, std::size_t second);

extern const OpType nll_loss_op;
extern const OpType nll_loss_backward_op;

ValueId nll_loss(GraphBuilder& builder, ValueId logp, const LossLabels& labels,
                 LossAttributes attributes = {}, const std::string& name = "nll_loss");
ValueId nll_loss_backward(GraphBuilder& builder, ValueId seed, ValueId logp, const LossLabels& labels,
                          LossAttributes attributes, const std::string& name = "nll_loss.backward");

}  // namespace mpt
