// channel_affine:  y = x * scale + shift a channel, then max(0, .) with `relu`. x is [..., C]; scale and
// shift
//                  are [C] and f32. A batch norm whose statistics are folded (batch_norm_fold).
// affine_add_relu: z = (x1 * scale1 + shift1) + t(x2), then max(0, .) with `relu`. t is x2 * scale2 + shift2
//                  (then max(0, .) with `second_relu`) when the second pair is given, otherwise x2 itself:
//                  the end of a residual block with a projection or an identity shortcut.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct ChannelAffineAttributes {
    bool relu = false;
    bool operator==(const ChannelAffineAttributes&) const = default;
};
struct AffineAddReluAttributes {
    bool relu = false;
    bool second_relu = false;
    bool operator==(const AffineAddReluAttributes&) const = default;
};
std::string print(const ChannelAffineAttributes& attributes);
std::string print(const AffineAddReluAttributes& attributes);

extern const OpType channel_affine_op;
extern const OpType affine_add_relu_op;

// Places of affine_add_relu's inputs.
namespace affine_add_relu_input {
enum : int { kX1, kScale1, kShift1, kX2, kScale2, kShift2, kCount };
}

}  // namespace mpt
