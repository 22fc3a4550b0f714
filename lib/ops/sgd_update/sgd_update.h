// sgd_update(master, gradient, moment1?, narrow?, control) -> each of them but control, in place; see
// ops/update_op.h. As torch.optim.SGD with dampening 0:
//   d = g + weight_decay * w;  buffer = momentum * buffer + d;  w -= lr * (nesterov ? d + momentum * buffer :
//   buffer)
// A buffer of zeros gives PyTorch's first step. moment1 is absent when momentum is 0.
#pragma once

#include "graph/builder.h"
#include "ops/update_op.h"
#include "optim/segments.h"

namespace mpt {

struct SgdUpdateAttributes {
    double momentum = 0.9;
    bool nesterov = false;
    double weight_decay = 0;  // of decayed segments
    SegmentTable segments;
    bool operator==(const SgdUpdateAttributes&) const = default;
};
std::string print(const SgdUpdateAttributes& attributes);

extern const OpType sgd_update_op;

// `inputs` as above, kNone for what is absent. Returns all outputs.
std::vector<ValueId> sgd_update(GraphBuilder& builder, const SgdUpdateAttributes& attributes,
                                std::vector<ValueId> inputs, const std::string& name = "sgd_update");

}  // namespace mpt
