// global_avg_pool: y[N,C] = mean of x[N,H,W,C] over H and W, summed in f32 or wider.
// global_avg_pool_backward: grad_x[N,H,W,C] = grad_y[N,C] / (H * W).
#pragma once

#include "graph/builder.h"

namespace mpt {

struct GlobalAvgPoolBackwardAttributes {
    std::int64_t height = 0, width = 0;  // of x
    bool operator==(const GlobalAvgPoolBackwardAttributes&) const = default;
};
std::string print(const GlobalAvgPoolBackwardAttributes& attributes);

extern const OpType global_avg_pool_op;
extern const OpType global_avg_pool_backward_op;

ValueId global_avg_pool(GraphBuilder& builder, ValueId x, const std::string& name = "global_avg_pool");
ValueId global_avg_pool_backward(GraphBuilder& builder, ValueId grad_y,
                                 GlobalAvgPoolBackwardAttributes attributes,
                                 const std::string& name = "global_avg_pool.backward");

}  // namespace mpt
