// max_pool: (x[N,H,W,C], scale?, shift?) -> y[N,P,Q,C], index[N,P,Q,C] u8: the place r * window + s of the
// maximum in its window. The first maximum wins, padding never does; a NaN in the window wins. With `affine`
// it is that of relu?(x * scale + shift), f32 vectors of C, which is then never stored. max_pool_backward:
// (grad_y, index) -> grad_x; contributions of overlapping windows are summed in f32 or wider.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct MaxPoolAttributes {
    std::int64_t window = 2, stride = 2, pad = 0;
    bool affine = false, relu = false;
    bool operator==(const MaxPoolAttributes&) const = default;
};
struct MaxPoolBackwardAttributes {
    std::int64_t window = 2, stride = 2, pad = 0;
    std::int64_t height = 0, width = 0;  // of x
    bool operator==(const MaxPoolBackwardAttributes&) const = default;
};
std::string print(const MaxPoolAttributes& attributes);
std::string print(const MaxPoolBackwardAttributes& attributes);

extern const OpType max_pool_op;
extern const OpType max_pool_backward_op;

struct MaxPoolOutputs {
    ValueId y, index;
};
MaxPoolOutputs max_pool(GraphBuilder& builder, ValueId x, MaxPoolAttributes attributes,
                        const std::string& name = "max_pool");
ValueId max_pool_backward(GraphBuilder& builder, ValueId grad_y, ValueId index,
                          MaxPoolBackwardAttributes attributes,
                          const std::string& name = "max_pool.backward");

}  // namespace mpt
