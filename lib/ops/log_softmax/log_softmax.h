// log_softmax: logp = z - log(sum(exp(z))) over the last dimension of z[M,V].
// log_softmax_backward: grad_z = grad - exp(logp) * sum(grad), the sum over the row.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType log_softmax_op;
extern const OpType log_softmax_backward_op;

ValueId log_softmax(GraphBuilder& builder, ValueId z, const std::string& name = "log_softmax");
ValueId log_softmax_backward(GraphBuilder& builder, ValueId grad, ValueId logp,
                             const std::string& name = "log_softmax.backward");

}  // namespace mpt
