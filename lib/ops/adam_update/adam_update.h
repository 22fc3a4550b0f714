// adam_update(master, gradient, moment1, moment2, narrow?, control) -> each of them but control, in place;
// see ops/update_op.h. As torch.optim.Adam and AdamW, t = applied updates, this one included:
//   coupled:   g += weight_decay * w          decoupled:  w *= 1 - lr * weight_decay
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
// epsilon counts as at least the smallest normal f32, so that 0 / 0 never happens.
#pragma once

#include "graph/builder.h"
#include "ops/update_op.h"
#include "optim/segments.h"

namespace mpt {

struct AdamUpdateAttributes {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double weight_decay = 0;  // of decayed segments
    bool decoupled = false;   // AdamW
    SegmentTable segments;
    bool operator==(const AdamUpdateAttributes&) const = default;
};
std::string print(const AdamUpdateAttributes& attributes);

extern const OpType adam_update_op;

// `inputs` as above, kNone for an absent narrow copy. Returns all outputs.
std::vector<ValueId> adam_update(GraphBuilder& builder, const AdamUpdateAttributes& attributes,
                                 std::vector<ValueId> inputs, const std::string& name = "adam_update");

}  // namespace mpt
