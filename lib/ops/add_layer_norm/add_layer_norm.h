// The residual sum and the layer norm that reads it, in one pass over memory each way.
//   add_layer_norm:          (a, b, gain, bias?) -> sum = a + b, y, mean, rstd = layer_norm(sum)
//   layer_norm_backward_add: (grad_y, x, gain, mean, rstd, other) -> grad_x of layer_norm_backward + other,
//                            grad_gain, grad_bias
// The statistics are those of the sum as it is stored: the same bits as the two ops one after the other.
#pragma once

#include "ops/layer_norm/layer_norm.h"

namespace mpt {

extern const OpType add_layer_norm_op;
extern const OpType layer_norm_backward_add_op;

struct AddLayerNormOutputs {
    ValueId sum, y, mean, rstd;
};
AddLayerNormOutputs add_layer_norm(GraphBuilder& builder, ValueId a, ValueId b, ValueId gain, ValueId bias,
                                   LayerNormAttributes attributes = {},
                                   const std::string& name = "add_layer_norm");

}  // namespace mpt
