// Sums over all but the last dimension, and what batch norm's backward pass makes of them. Data is [..., C];
// vectors are [C], sums [rows, C], both f32, summed in f64.
// channel_statistics:      x -> [2, C]: sum(x), sum(x * x)
// channel_reductions:      (g, ref1, ref2?) -> [1 + n, C]: sum(g), sum(g * ref1), sum(g * ref2)
// channel_combine:         (g, x, a, b, c) -> a * g + b * x + c: the gradient that enters a batch norm's
// input relu_backward_reductions: (g, x, scale?, shift?, ref1, ref2?) -> grad = g where the activation is
// positive,
//                          else 0, and channel_reductions(grad, ref1, ref2). The activation is x, or
//                          x * scale + shift where it is not stored (`affine`).
#pragma once

#include "graph/builder.h"

namespace mpt {

struct ChannelReductionsAttributes {
    int num_references = 1;  // 1 or 2
    bool operator==(const ChannelReductionsAttributes&) const = default;
};
struct ReluBackwardReductionsAttributes {
    bool affine = false;
    int num_references = 1;
    bool operator==(const ReluBackwardReductionsAttributes&) const = default;
};
std::string print(const ChannelReductionsAttributes& attributes);
std::string print(const ReluBackwardReductionsAttributes& attributes);

extern const OpType channel_statistics_op;
extern const OpType channel_reductions_op;
extern const OpType channel_combine_op;
extern const OpType relu_backward_reductions_op;

// Places of relu_backward_reductions' inputs.
namespace relu_backward_reductions_input {
enum : int { kG, kX, kScale, kShift, kRef1, kRef2, kCount };
}

}  // namespace mpt
