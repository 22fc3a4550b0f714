#include "ops/max_pool/rewrites.h"

#include "graph/rewriting.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/max_pool/max_pool.h"

namespace mpt {

namespace {

bool take_affine(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, max_pool_op)) return false;
    const Node pool = graph.node(anchor);
    const NodeId producer = producer_of(graph, pool.inputs[0], channel_affine_op);
    if (producer == kNone || !only_user_is(graph, pool.inputs[0], anchor)) return false;
    const Node affine = graph.node(producer);
    auto attributes = pool.attributes.as<MaxPoolAttributes>();
    attributes.affine = true;
    attributes.relu = affine.attributes.as<ChannelAffineAttributes>().relu;
    if (!has_fast_kernel(kernels, graph, max_pool_op, attributes, affine.inputs)) return false;
    replace_node(graph, anchor, max_pool_op, attributes, affine.inputs, pool.outputs);
    remove_node(graph, producer);
    return true;
}

}  // namespace

// Once the mask behind the pool has been recomputed from x as well.
const Rewrite max_pool_takes_affine = {"max_pool_takes_affine", 90, take_affine};

}  // namespace mpt
