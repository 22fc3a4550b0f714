// lars_update(master, gradient, moment1, narrow?, control) -> each of them but control, in place; see
// ops/update_op.h. You, Gitman, Ginsburg, "Large batch training of convolutional networks", arXiv:1708.03888,
// algorithm 1, norms per segment:
//   ratio = trust * |w| / (|g| + weight_decay * |w| + epsilon)
//   buffer = momentum * buffer + lr * ratio * (g + weight_decay * w);  w -= buffer
// The ratio is 1 and the decay 0 in exempt segments; the ratio is 1 where |w| or |g| is 0.
#pragma once

#include "graph/builder.h"
#include "ops/update_op.h"
#include "optim/segments.h"

namespace mpt {

struct LarsUpdateAttributes {
    double momentum = 0.9, weight_decay = 0;
    double trust_coefficient = 0.001;
    double epsilon = 0;
    SegmentTable segments;
    bool operator==(const LarsUpdateAttributes&) const = default;
};
std::string print(const LarsUpdateAttributes& attributes);

extern const OpType lars_update_op;

// `inputs` as above, kNone for an absent narrow copy. Returns all outputs.
std::vector<ValueId> lars_update(GraphBuilder& builder, const LarsUpdateAttributes& attributes,
                                 std::vector<ValueId> inputs, const std::string& name = "lars_update");

// The learning rate's factor for a decayed segment, from its 2-norms.
double lars_ratio(const LarsUpdateAttributes& attributes, double master_norm, double gradient_norm);

}  // namespace mpt
