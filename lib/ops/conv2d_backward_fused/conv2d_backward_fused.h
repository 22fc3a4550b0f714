// The gradients of a convolution with what surrounds them:
//   g_eff  = a * g + b * y + c                  (`grad_affine`: the batch norm behind the convolution), else
//   g x_eff  = relu?(scale * x + shift)           (`input_affine`, `input_relu`), else x grad_x =
//   data_gradient(g_eff, w) + addend?  (`add`), 0 where the mask's activation is not positive (`mask`)
//   reductions = sum(grad_x), sum(grad_x * ref_i) a channel, [1 + n, C], of grad_x as stored
//   grad_buffer' = grad_buffer + weight_gradient(x_eff, g_eff), in place; f32
// Inputs: x?, scale?, shift?, w?, g, y?, a?, b?, c?, addend?, ref1?, ref2?, grad_buffer?  (see the enum)
// Outputs, those that exist: grad_buffer', grad_x, reductions. Three op types share this, because an op's
// aliases are fixed: conv2d_backward_fused makes both gradients, the other two one each.
#pragma once

#include "graph/builder.h"

namespace mpt {

enum class InputMask : std::uint8_t {
    kOff,
    kInput,        // positive x: x is an activated tensor
    kInputAffine,  // positive scale * x + shift
};

struct Conv2dBackwardFusedAttributes {
    std::int64_t stride = 1, pad = 0;
    std::int64_t height = 0, width = 0;  // of x
    std::int64_t kernel_h = 0, kernel_w = 0;
    bool need_data = false;
    bool need_weight = false;
    bool input_affine = false;
    bool input_relu = false;
    bool grad_affine = false;
    bool add = false;
    InputMask mask = InputMask::kOff;
    bool reductions = false;
    int num_references = 0;  // 1 or 2 with reductions
    bool operator==(const Conv2dBackwardFusedAttributes&) const = default;
};
std::string print(const Conv2dBackwardFusedAttributes& attributes);

extern const OpType conv2d_backward_fused_op;
extern const OpType conv2d_backward_data_fused_op;
extern const OpType conv2d_backward_weight_fused_op;

// The one of the three that makes these gradients.
const OpType& conv2d_backward_fused_op_for(const Conv2dBackwardFusedAttributes& attributes);

namespace conv2d_backward_fused_input {
enum : int { kX, kScale, kShift, kW, kG, kY, kA, kB, kC, kAddend, kRef1, kRef2, kBuffer, kCount };
}

// Index of an output, or kNone.
struct Conv2dBackwardFusedOutputs {
    int buffer = kNone, grad_x = kNone, reductions = kNone;
};
Conv2dBackwardFusedOutputs outputs_of(const Conv2dBackwardFusedAttributes& attributes);

}  // namespace mpt
