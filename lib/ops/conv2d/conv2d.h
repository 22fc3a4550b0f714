// conv2d: y[N,P,Q,K] = x[N,H,W,C] * w[K,R,S,C], square stride, symmetric zero padding, no groups; P = (H + 2
// pad
// - R) / stride + 1. The sums are f32 or wider, rounded once to the type of x.
// conv2d_backward_data: grad_x[N,H,W,C] from (grad_y, w).
// conv2d_backward_weight: grad_w[K,R,S,C] from (grad_y, x), f32 whatever the type of the data.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct Conv2dAttributes {
    std::int64_t stride = 1, pad = 0;
    bool operator==(const Conv2dAttributes&) const = default;
};
struct Conv2dBackwardDataAttributes {
    std::int64_t stride = 1, pad = 0;
    std::int64_t height = 0, width = 0;  // of x
    bool operator==(const Conv2dBackwardDataAttributes&) const = default;
};
struct Conv2dBackwardWeightAttributes {
    std::int64_t stride = 1, pad = 0;
    std::int64_t kernel_h = 0, kernel_w = 0;
    bool operator==(const Conv2dBackwardWeightAttributes&) const = default;
};
std::string print(const Conv2dAttributes& attributes);
std::string print(const Conv2dBackwardDataAttributes& attributes);
std::string print(const Conv2dBackwardWeightAttributes& attributes);

extern const OpType conv2d_op;
extern const OpType conv2d_backward_data_op;
extern const OpType conv2d_backward_weight_op;

ValueId conv2d(GraphBuilder& builder, ValueId x, ValueId w, Conv2dAttributes attributes = {},
               const std::string& name = "conv2d");
ValueId conv2d_backward_data(GraphBuilder& builder, ValueId grad_y, ValueId w,
                             Conv2dBackwardDataAttributes attributes,
                             const std::string& name = "conv2d.backward_data");
ValueId conv2d_backward_weight(GraphBuilder& builder, ValueId grad_y, ValueId x,
                               Conv2dBackwardWeightAttributes attributes,
                               const std::string& name = "conv2d.backward_weight");

}  // namespace mpt
