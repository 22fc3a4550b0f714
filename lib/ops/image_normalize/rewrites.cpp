#include "ops/image_normalize/rewrites.h"

#include "graph/rewriting.h"
#include "ops/cast/cast.h"
#include "ops/image_normalize/image_normalize.h"

namespace mpt {

namespace {

bool take_cast(Graph& graph, NodeId anchor, const KernelTable&) {
    if (!is_op(graph, anchor, cast_op)) return false;
    const Node cast_node = graph.node(anchor);
    const NodeId producer = producer_of(graph, cast_node.inputs[0], image_normalize_op);
    if (producer == kNone || !only_user_is(graph, cast_node.inputs[0], anchor)) return false;
    const Node normalize = graph.node(producer);
    auto attributes = normalize.attributes.as<ImageNormalizeAttributes>();
    attributes.dtype = cast_node.attributes.as<CastAttributes>().to;
    replace_node(graph, producer, image_normalize_op, attributes, normalize.inputs, cast_node.outputs);
    remove_node(graph, anchor);
    return true;
}

}  // namespace

const Rewrite image_normalize_takes_cast = {"image_normalize_takes_cast", 10, take_cast};

}  // namespace mpt
