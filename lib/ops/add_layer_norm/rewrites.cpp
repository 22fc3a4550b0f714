#include "ops/add_layer_norm/rewrites.h"

#include "ops/add_layer_norm/add_layer_norm.h"
#include "ops/norm_rewrites.h"

namespace mpt {

namespace {

bool take_add(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    return norm_takes_add(graph, anchor, kernels, layer_norm_op, add_layer_norm_op);
}
bool take_gradient(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    return norm_backward_takes_add(graph, anchor, kernels, layer_norm_backward_op,
                                   layer_norm_backward_add_op);
}

}  // namespace

const Rewrite layer_norm_takes_add = {"layer_norm_takes_add", 20, take_add};
const Rewrite layer_norm_backward_takes_add = {"layer_norm_backward_takes_add", 20, take_gradient};

}  // namespace mpt
