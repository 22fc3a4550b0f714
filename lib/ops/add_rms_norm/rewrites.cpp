#include "ops/add_rms_norm/rewrites.h"

#include "ops/add_rms_norm/add_rms_norm.h"
#include "ops/norm_rewrites.h"

namespace mpt {

namespace {

bool take_add(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    return norm_takes_add(graph, anchor, kernels, rms_norm_op, add_rms_norm_op);
}
bool take_gradient(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    return norm_backward_takes_add(graph, anchor, kernels, rms_norm_backward_op, rms_norm_backward_add_op);
}

}  // namespace

const Rewrite rms_norm_takes_add = {"rms_norm_takes_add", 20, take_add};
const Rewrite rms_norm_backward_takes_add = {"rms_norm_backward_takes_add", 20, take_gradient};

}  // namespace mpt
