#include "ops/image_normalize/rewrites.h"

#include "graph/rewriting.h"
#include "ops/cast/cast.h"
#include "ops/conv2d/conv2d.h"
#include "ops/image_normalize/image_normalize.h"
#include "ops/pad_channels/pad_channels.h"

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

// What Tensor Cores take in whole words: cuDNN has engines of f16 for 4 channels, of bf16 for 8.
std::int64_t padded_channels(const TensorType& x) {
    const std::int64_t word = x.dtype == DType::f16 ? 4 : x.dtype == DType::bf16 ? 8 : 1;
    return (x.shape[3] + word - 1) / word * word;
}

bool pad_channels_of_images(Graph& graph, NodeId anchor, const KernelTable& kernels) {
    if (!is_op(graph, anchor, image_normalize_op)) return false;
    const Node normalize = graph.node(anchor);
    const ValueId x = normalize.outputs[0];
    auto attributes = normalize.attributes.as<ImageNormalizeAttributes>();
    const std::int64_t channels = graph.type(x).shape[3], padded = padded_channels(graph.type(x));
    const std::vector<NodeId> users = graph.users(x);
    if (padded == channels || graph.is_output(x) || users.empty()) return false;
    for (const NodeId user : users) {
        const bool forward = is_op(graph, user, conv2d_op) && graph.node(user).inputs[0] == x;
        if (!forward && !is_op(graph, user, conv2d_backward_weight_op)) return false;
        if (forward && !has_fast_kernel(kernels, graph, pad_channels_op, PadChannelsAttributes{padded},
                                        {graph.node(user).inputs[1]}))
            return false;
    }
    attributes.channels = padded;
    const ValueId wide =
        replace_node(graph, anchor, image_normalize_op, attributes, normalize.inputs, {kNone})[0];
    for (const NodeId id : users) {
        const Node user = graph.node(id);
        if (user.op == &conv2d_op) {
            const ValueId w = append_node(graph, user, pad_channels_op, PadChannelsAttributes{padded},
                                          {user.inputs[1]}, ".pad_weights")[0];
            replace_node(graph, id, conv2d_op, user.attributes, {wide, w}, user.outputs);
        } else {
            const ValueId grad = replace_node(graph, id, conv2d_backward_weight_op, user.attributes,
                                              {user.inputs[0], wide}, {kNone})[0];
            append_node(graph, user, pad_channels_backward_op, PadChannelsAttributes{channels}, {grad},
                        ".cut_weights", user.outputs);
        }
    }
    return true;
}

}  // namespace

const Rewrite image_normalize_takes_cast = {"image_normalize_takes_cast", 5, take_cast};
const Rewrite image_normalize_pads_channels = {"image_normalize_pads_channels", 6, pad_channels_of_images};

}  // namespace mpt
