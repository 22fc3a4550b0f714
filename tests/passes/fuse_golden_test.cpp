// What the rewrites make of small graphs, as text.
#include <catch2/catch.hpp>

#include "ops/cast/cast.h"
#include "ops/image_normalize/image_normalize.h"
#include "support/fused_network.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// The nodes of one phase but for updates of buffers: outputs = op(inputs) attributes.
std::string nodes_of(const Graph& graph, Phase phase) {
    std::string text;
    for (const Node& node : graph.nodes) {
        if (node.phase != phase || node.name.find("accumulate") != std::string::npos ||
            node.name.find("running") != std::string::npos)
            continue;
        for (std::size_t o = 0; o < node.outputs.size(); ++o)
            text += (o ? ", " : "") + graph.value(node.outputs[o]).name;
        text += " = " + std::string(node.op->name) + "(";
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            text += (i ? ", " : "") +
                    (node.inputs[i] == kNone ? std::string("-") : graph.value(node.inputs[i]).name);
        const std::string attributes = node.attributes.text();
        text += attributes.empty() ? ")\n" : ") " + attributes + "\n";
    }
    return text;
}

int count(const Graph& graph, const std::string& op) {
    int found = 0;
    for (const Node& node : graph.nodes) found += node.op->name == op ? 1 : 0;
    return found;
}

// Names of images that the forward phase leaves for the backward one.
std::vector<std::string> stored_images(const Graph& graph) {
    std::vector<std::string> names;
    for (const Node& node : graph.nodes)
        for (const ValueId output : node.outputs) {
            if (node.phase != Phase::kForward || graph.type(output).shape.rank() != 4) continue;
            for (const NodeId user : graph.users(output))
                if (graph.node(user).phase == Phase::kBackward) {
                    names.push_back(graph.value(output).name);
                    break;
                }
        }
    return names;
}

FusedNetwork::Body two_blocks() {
    return [](GraphBuilder& b, ValueId x) {
        const ValueId y = residual_block(b, conv_norm_relu(b, x, {8, 3, 1, 1}, "conv1", "bn1"), {}, "one");
        return residual_block(b, y, {.channels = 16, .stride = 2, .projection = true}, "two");
    };
}

}  // namespace

TEST_CASE("what is stored: raw convolution outputs and block outputs", "[fuse]") {
    FusedNetwork plain({2, 4, 4, 3}, two_blocks()), fused({2, 4, 4, 3}, two_blocks());
    plain.train();
    fused.train();
    fused.fuse_with(willing_kernels());
    CHECK(stored_images(plain.graph) == std::vector<std::string>{"conv1", "bn1.relu", "one.conv1",
                                                                 "one.bn1.relu", "one.conv2", "one.relu_out",
                                                                 "two.conv1", "two.bn1.relu", "two.conv2",
                                                                 "two.downsample.0", "two.relu_out"});
    CHECK(stored_images(fused.graph) == std::vector<std::string>{"conv1", "one.conv1", "one.conv2",
                                                                 "one.relu_out", "two.conv1", "two.conv2",
                                                                 "two.downsample.0", "two.relu_out"});
    for (const char* op : {"batch_norm", "batch_norm_backward", "relu", "relu_backward", "add", "conv2d",
                           "conv2d_backward_data", "conv2d_backward_weight", "channel_affine",
                           "channel_statistics", "channel_reductions", "channel_combine"}) {
        CAPTURE(op);
        CHECK(count(fused.graph, op) == 0);
    }
}

TEST_CASE("without a kernel for it no convolution is fused", "[fuse]") {
    FusedNetwork network({2, 4, 4, 3}, two_blocks());
    network.train();
    network.fuse_with(reference_kernels());
    CHECK(count(network.graph, "conv2d") == 6);
    CHECK(count(network.graph, "conv2d_fused") == 0);
    CHECK(count(network.graph, "conv2d_backward_fused") == 0);
    CHECK(count(network.graph, "channel_statistics") == 6);
}

TEST_CASE("an activation that something else reads stays, too", "[fuse]") {
    FusedNetwork network({2, 8, 8, 3}, [](GraphBuilder& b, ValueId x) {
        const ValueId y = conv_norm_relu(b, x, {8, 3, 2, 1}, "conv1", "bn1");
        return residual_block(b, max_pool(b, y, {2, 2, 0}, "maxpool").y, {}, "one");
    });
    network.train();
    network.fuse_with(willing_kernels());
    CHECK(count(network.graph, "channel_affine") == 1);
    CHECK(count(network.graph, "relu_backward") == 0);
    CHECK(stored_images(network.graph) == std::vector<std::string>{"conv1", "maxpool:0", "maxpool:1",
                                                                   "one.conv1", "one.conv2", "one.relu_out"});
}

TEST_CASE("golden: a block with a projection", "[fuse]") {
    FusedNetwork network({2, 4, 4, 3}, two_blocks());
    network.train();
    network.fuse_with(willing_kernels());
    CHECK(nodes_of(network.graph, Phase::kForward) ==
          R"(conv1, bn1.statistics = conv2d_fused(x, -, -, conv1.weight) stride=1 pad=1 statistics
bn1.fold:0, bn1.fold:1, bn1:1, bn1:2 = batch_norm_fold(bn1.statistics, bn1.weight, bn1.bias) epsilon=1e-05 count=32
one.conv1, one.bn1.statistics = conv2d_fused(conv1, bn1.fold:0, bn1.fold:1, one.conv1.weight) stride=1 pad=1 input_affine input_relu statistics
one.bn1.fold:0, one.bn1.fold:1, one.bn1:1, one.bn1:2 = batch_norm_fold(one.bn1.statistics, one.bn1.weight, one.bn1.bias) epsilon=1e-05 count=32
one.conv2, one.bn2.statistics = conv2d_fused(one.conv1, one.bn1.fold:0, one.bn1.fold:1, one.conv2.weight) stride=1 pad=1 input_affine input_relu statistics
one.bn2.fold:0, one.bn2.fold:1, one.bn2:1, one.bn2:2 = batch_norm_fold(one.bn2.statistics, one.bn2.weight, one.bn2.bias) epsilon=1e-05 count=32
one.relu_out = affine_add_relu(one.conv2, one.bn2.fold:0, one.bn2.fold:1, conv1, bn1.fold:0, bn1.fold:1) relu second_relu
two.conv1, two.bn1.statistics = conv2d_fused(one.relu_out, -, -, two.conv1.weight) stride=2 pad=1 statistics
two.bn1.fold:0, two.bn1.fold:1, two.bn1:1, two.bn1:2 = batch_norm_fold(two.bn1.statistics, two.bn1.weight, two.bn1.bias) epsilon=1e-05 count=8
two.conv2, two.bn2.statistics = conv2d_fused(two.conv1, two.bn1.fold:0, two.bn1.fold:1, two.conv2.weight) stride=1 pad=1 input_affine input_relu statistics
two.bn2.fold:0, two.bn2.fold:1, two.bn2:1, two.bn2:2 = batch_norm_fold(two.bn2.statistics, two.bn2.weight, two.bn2.bias) epsilon=1e-05 count=8
two.downsample.0, two.downsample.1.statistics = conv2d_fused(one.relu_out, -, -, two.downsample.0.weight) stride=2 pad=0 statistics
two.downsample.1.fold:0, two.downsample.1.fold:1, two.downsample.1:1, two.downsample.1:2 = batch_norm_fold(two.downsample.1.statistics, two.downsample.1.weight, two.downsample.1.bias) epsilon=1e-05 count=8
two.relu_out = affine_add_relu(two.conv2, two.bn2.fold:0, two.bn2.fold:1, two.downsample.0, two.downsample.1.fold:0, two.downsample.1.fold:1) relu
avgpool = global_avg_pool(two.relu_out)
fc = linear(avgpool, fc.weight, fc.bias)
loss.nll_loss, loss.nll_loss:1 = softmax_cross_entropy(fc, labels) label_smoothing=0.1
loss.top_k_hits:0, loss.top_k_hits:1 = top_k_hits(fc, labels)
)");
    CHECK(
        nodes_of(network.graph, Phase::kBackward) ==
        R"(loss.log_softmax.backward = softmax_cross_entropy_backward(seed, fc, labels, loss.nll_loss:1) label_smoothing=0.1
fc.backward_data = linear_backward_data(loss.log_softmax.backward, fc.weight)
fc.backward_weight = linear_backward_weight(loss.log_softmax.backward, avgpool)
fc.backward_bias = sum_rows(loss.log_softmax.backward)
avgpool.backward = global_avg_pool_backward(fc.backward_data) height=2 width=2
two.relu_out.backward, two.downsample.1.backward.reductions_2 = relu_backward_reductions(avgpool.backward, two.relu_out, -, -, two.downsample.0, two.conv2) references=2
two.downsample.1.backward:1, two.downsample.1.backward:2, two.downsample.1.backward.fold:2, two.downsample.1.backward.fold:3, two.downsample.1.backward.fold:4 = batch_norm_backward_fold(two.downsample.1.backward.reductions_2, two.downsample.1.weight, two.downsample.1:1, two.downsample.1:2) count=8 row=1
two.downsample.0.weight.accumulate, two.downsample.0.backward_data = conv2d_backward_fused(one.relu_out, -, -, two.downsample.0.weight, two.relu_out.backward, two.downsample.0, two.downsample.1.backward.fold:2, two.downsample.1.backward.fold:3, two.downsample.1.backward.fold:4, -, -, -, two.downsample.0.weight.gradient) stride=2 pad=0 input=4x4 kernel=1x1 grad_affine
two.bn2.backward:1, two.bn2.backward:2, two.bn2.backward.fold:2, two.bn2.backward.fold:3, two.bn2.backward.fold:4 = batch_norm_backward_fold(two.downsample.1.backward.reductions_2, two.bn2.weight, two.bn2:1, two.bn2:2) count=8 row=2
two.conv2.weight.accumulate, two.bn1.relu.backward, two.bn1.backward.reductions = conv2d_backward_fused(two.conv1, two.bn1.fold:0, two.bn1.fold:1, two.conv2.weight, two.relu_out.backward, two.conv2, two.bn2.backward.fold:2, two.bn2.backward.fold:3, two.bn2.backward.fold:4, -, two.conv1, -, two.conv2.weight.gradient) stride=1 pad=1 input=2x2 kernel=3x3 input_affine input_relu grad_affine mask=input_affine reductions references=1
two.bn1.backward:1, two.bn1.backward:2, two.bn1.backward.fold:2, two.bn1.backward.fold:3, two.bn1.backward.fold:4 = batch_norm_backward_fold(two.bn1.backward.reductions, two.bn1.weight, two.bn1:1, two.bn1:2) count=8 row=1
two.conv1.weight.accumulate, one.relu_out.backward, one.bn2.backward.reductions = conv2d_backward_fused(one.relu_out, -, -, two.conv1.weight, two.bn1.relu.backward, two.conv1, two.bn1.backward.fold:2, two.bn1.backward.fold:3, two.bn1.backward.fold:4, two.downsample.0.backward_data, one.conv2, -, two.conv1.weight.gradient) stride=2 pad=1 input=4x4 kernel=3x3 grad_affine add mask=input reductions references=1
one.bn2.backward:1, one.bn2.backward:2, one.bn2.backward.fold:2, one.bn2.backward.fold:3, one.bn2.backward.fold:4 = batch_norm_backward_fold(one.bn2.backward.reductions, one.bn2.weight, one.bn2:1, one.bn2:2) count=32 row=1
one.conv2.weight.accumulate, one.bn1.relu.backward, one.bn1.backward.reductions = conv2d_backward_fused(one.conv1, one.bn1.fold:0, one.bn1.fold:1, one.conv2.weight, one.relu_out.backward, one.conv2, one.bn2.backward.fold:2, one.bn2.backward.fold:3, one.bn2.backward.fold:4, -, one.conv1, -, one.conv2.weight.gradient) stride=1 pad=1 input=4x4 kernel=3x3 input_affine input_relu grad_affine mask=input_affine reductions references=1
one.bn1.backward:1, one.bn1.backward:2, one.bn1.backward.fold:2, one.bn1.backward.fold:3, one.bn1.backward.fold:4 = batch_norm_backward_fold(one.bn1.backward.reductions, one.bn1.weight, one.bn1:1, one.bn1:2) count=32 row=1
one.conv1.weight.accumulate, bn1.relu.backward, bn1.backward.reductions = conv2d_backward_fused(conv1, bn1.fold:0, bn1.fold:1, one.conv1.weight, one.bn1.relu.backward, one.conv1, one.bn1.backward.fold:2, one.bn1.backward.fold:3, one.bn1.backward.fold:4, one.relu_out.backward, conv1, -, one.conv1.weight.gradient) stride=1 pad=1 input=4x4 kernel=3x3 input_affine input_relu grad_affine add mask=input_affine reductions references=1
bn1.backward:1, bn1.backward:2, bn1.backward.fold:2, bn1.backward.fold:3, bn1.backward.fold:4 = batch_norm_backward_fold(bn1.backward.reductions, bn1.weight, bn1:1, bn1:2) count=32 row=1
conv1.weight.accumulate = conv2d_backward_weight_fused(x, -, -, -, bn1.relu.backward, conv1, bn1.backward.fold:2, bn1.backward.fold:3, bn1.backward.fold:4, -, -, -, conv1.weight.gradient) stride=1 pad=1 input=4x4 kernel=3x3 grad_affine
)");
}

TEST_CASE("golden: casts behind image_normalize and around the loss", "[fuse]") {
    Graph graph;
    GraphBuilder builder(graph);
    const ValueId images = builder.input("images", {{1, 2, 2, 1}, DType::u8});
    const ValueId x = image_normalize(builder, images, {{2}, {1}}, "normalize");
    builder.output("x", cast(builder, x, {DType::f16}, "cast"));
    fuse(graph, willing_kernels());
    CHECK(nodes_of(graph, Phase::kForward) == "cast = image_normalize(images) scale=2 shift=1 to=f16\n");

    FusedNetwork network({2, 4, 4, 3}, [](GraphBuilder& b, ValueId in) { return relu(b, in, "relu"); });
    network.train();
    network.narrow(DType::f16);
    network.fuse_with(willing_kernels());
    CHECK(nodes_of(network.graph, Phase::kForward) == R"(relu = relu(x)
avgpool = global_avg_pool(relu)
avgpool.f16 = cast(avgpool) to=f16
fc.weight.f16 = cast(fc.weight) to=f16
fc = linear(avgpool.f16, fc.weight.f16, fc.bias)
fc.f32 = cast(fc) to=f32
loss.nll_loss, loss.nll_loss:1 = softmax_cross_entropy(fc.f32, labels) label_smoothing=0.1
loss.top_k_hits:0, loss.top_k_hits:1 = top_k_hits(fc, labels)
)");
    CHECK(
        nodes_of(network.graph, Phase::kBackward) ==
        R"(loss.log_softmax.backward = softmax_cross_entropy_backward(seed, fc.f32, labels, loss.nll_loss:1) label_smoothing=0.1
loss.log_softmax.backward.f16 = cast(loss.log_softmax.backward) to=f16
fc.backward_weight = linear_backward_weight(loss.log_softmax.backward.f16, avgpool.f16)
fc.backward_bias = sum_rows(loss.log_softmax.backward)
)");
}
