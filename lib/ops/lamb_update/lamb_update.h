// lamb_update(master, gradient, moment1, moment2, narrow?, control) -> each of them but control, in place;
// see ops/update_op.h. You et al., "Large batch optimization for deep learning", arXiv:1904.00962, algorithm
// 2 with phi the identity, norms per segment, t = applied updates, this one included:
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * w;  w -= lr * |w| / |u| * u
// The ratio |w| / |u| is 1 and the decay 0 in exempt segments; the ratio is 1 where |w| or |u| is 0.
// epsilon counts as at least the smallest normal f32, so that 0 / 0 never happens.
#pragma once

#include "graph/builder.h"
#include "ops/update_op.h"
#include "optim/segments.h"

namespace mpt {

struct LambUpdateAttributes {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
    double weight_decay = 0;
    SegmentTable segments;
    bool operator==(const LambUpdateAttributes&) const = default;
};
std::string print(const LambUpdateAttributes& attributes);

extern const OpType lamb_update_op;

// `inputs` as above, kNone for an absent narrow copy. Returns all outputs.
std::vector<ValueId> lamb_update(GraphBuilder& builder, const LambUpdateAttributes& attributes,
                                 std::vector<ValueId> inputs, const std::string& name = "lamb_update");

double lamb_ratio(double master_norm, double update_norm);

}  // namespace mpt
