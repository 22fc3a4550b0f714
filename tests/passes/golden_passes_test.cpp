// What each pass does to a two-layer network, as text: before and after.
#include <catch2/catch.hpp>

#include "core/error.h"
#include "graph/verifier.h"
#include "ops/cast/cast.h"
#include "ops/linear/linear.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/nll_loss/nll_loss.h"
#include "ops/relu/relu.h"
#include "passes/append_update.h"
#include "passes/differentiate.h"
#include "passes/precision.h"
#include "passes/recompute.h"
#include "passes/simplify.h"

using namespace mpt;

namespace {

// x -> linear -> relu -> linear -> loss; each layer a block.
struct Example {
    Graph graph;
    VariableTable variables;
    GraphBuilder builder{graph, &variables};
    ValueId loss = kNone, seed = kNone;

    Example() {
        graph.name = "example";
        const ValueId x = builder.input("x", {{2, 4}, DType::f32});
        const ValueId labels = builder.input("labels", {Shape{2}, DType::i32});
        builder.set_block(0);
        const ValueId w1 = builder.parameter("fc1.weight", {8, 4}, Role::kMatrix, {});
        const ValueId h = relu(builder, linear(builder, x, w1, kNone, "fc1"), "relu");
        builder.set_block(1);
        const ValueId w2 = builder.parameter("fc2.weight", {3, 8}, Role::kMatrix, {});
        const ValueId z = linear(builder, h, w2, kNone, "fc2");
        builder.set_block(kNone);
        loss = nll_loss(builder, log_softmax(builder, z, {}, "logp"), labels, {}, "loss");
        builder.output("loss_sum", loss);
        seed = builder.input("seed", {{}, DType::f32});
    }

    void differentiated() { append_accumulation(builder, differentiate(builder, loss, seed)); }
};

// The lines of `text` that start a node, without their indentation.
std::string nodes_of(const Graph& graph) {
    std::string text = print(graph), kept;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        if (line.find(" = ") != std::string::npos && line.rfind("  output", 0) != 0)
            kept += line.substr(2) + "\n";
        at = end + 1;
    }
    return kept;
}

}  // namespace

TEST_CASE("golden: the graph as built", "[passes]") {
    Example e;
    verify(e.graph, GraphStage::kBuilt);
    CHECK(print(e.graph) == R"(graph example
  input x:[2x4]f32
  input labels:[2]i32
  stored fc1.weight:[8x4]f32 @master
  stored fc2.weight:[3x8]f32 @master
  fc1: fc1:[2x8]f32 = linear(x, fc1.weight, -)
  relu: relu:[2x8]f32 = relu(fc1)
  fc2: fc2:[2x3]f32 = linear(relu, fc2.weight, -)
  logp: logp:[2x3]f32 = log_softmax(fc2)
  loss: loss:[]f32 = nll_loss(logp, labels)
  output loss_sum = loss
)");
}

TEST_CASE("golden: differentiate and append_update", "[passes]") {
    Example e;
    e.differentiated();
    verify(e.graph, GraphStage::kBuilt);
    CHECK(nodes_of(e.graph) == R"(fc1: fc1:[2x8]f32 = linear(x, fc1.weight, -)
relu: relu:[2x8]f32 = relu(fc1)
fc2: fc2:[2x3]f32 = linear(relu, fc2.weight, -)
logp: logp:[2x3]f32 = log_softmax(fc2)
loss: loss:[]f32 = nll_loss(logp, labels)
loss.backward: loss.backward:[2x3]f32 = nll_loss_backward(seed, logp, labels)
logp.backward: logp.backward:[2x3]f32 = log_softmax_backward(loss.backward, logp)
fc2.backward_data: fc2.backward_data:[2x8]f32 = linear_backward_data(logp.backward, fc2.weight)
fc2.backward_weight: fc2.backward_weight:[3x8]f32 = linear_backward_weight(logp.backward, relu)
fc2.weight.accumulate: fc2.weight.accumulate:[3x8]f32 = accumulate(fc2.weight.gradient, fc2.backward_weight)
relu.backward: relu.backward:[2x8]f32 = relu_backward(fc2.backward_data, relu)
fc1.backward_weight: fc1.backward_weight:[8x4]f32 = linear_backward_weight(relu.backward, x)
fc1.weight.accumulate: fc1.weight.accumulate:[8x4]f32 = accumulate(fc1.weight.gradient, fc1.backward_weight)
)");
}

TEST_CASE("golden: recompute repeats what only a block's own backward reads", "[passes]") {
    Example e;
    // fc1's block ends with its relu, which block 1 reads: kept. Of block 1 nothing inner is needed. Seen as
    // one block, the relu becomes an inner value and is computed again.
    for (Node& node : e.graph.nodes) node.block = node.block == kNone ? kNone : 0;
    e.differentiated();
    recompute_blocks(e.graph);
    verify(e.graph, GraphStage::kBuilt);
    CHECK(nodes_of(e.graph) == R"(fc1: fc1:[2x8]f32 = linear(x, fc1.weight, -)
relu: relu:[2x8]f32 = relu(fc1)
fc2: fc2:[2x3]f32 = linear(relu, fc2.weight, -)
logp: logp:[2x3]f32 = log_softmax(fc2)
loss: loss:[]f32 = nll_loss(logp, labels)
loss.backward: loss.backward:[2x3]f32 = nll_loss_backward(seed, logp, labels)
logp.backward: logp.backward:[2x3]f32 = log_softmax_backward(loss.backward, logp)
fc2.backward_data: fc2.backward_data:[2x8]f32 = linear_backward_data(logp.backward, fc2.weight)
fc1.recompute: fc1.recompute:[2x8]f32 = linear(x, fc1.weight, -)
relu.recompute: relu.recompute:[2x8]f32 = relu(fc1.recompute)
fc2.backward_weight: fc2.backward_weight:[3x8]f32 = linear_backward_weight(logp.backward, relu.recompute)
fc2.weight.accumulate: fc2.weight.accumulate:[3x8]f32 = accumulate(fc2.weight.gradient, fc2.backward_weight)
relu.backward: relu.backward:[2x8]f32 = relu_backward(fc2.backward_data, relu.recompute)
fc1.backward_weight: fc1.backward_weight:[8x4]f32 = linear_backward_weight(relu.backward, x)
fc1.weight.accumulate: fc1.weight.accumulate:[8x4]f32 = accumulate(fc1.weight.gradient, fc1.backward_weight)
)");
}

TEST_CASE("golden: assign_precision casts once a value and type", "[passes]") {
    Example e;
    e.differentiated();
    assign_precision(e.graph, {DType::f16, {}});
    verify(e.graph, GraphStage::kPrecision);
    CHECK(nodes_of(e.graph) == R"(x.f16: x.f16:[2x4]f16 = cast(x) to=f16
fc1.weight.f16: fc1.weight.f16:[8x4]f16 = cast(fc1.weight) to=f16
fc1: fc1:[2x8]f16 = linear(x.f16, fc1.weight.f16, -)
relu: relu:[2x8]f16 = relu(fc1)
fc2.weight.f16: fc2.weight.f16:[3x8]f16 = cast(fc2.weight) to=f16
fc2: fc2:[2x3]f16 = linear(relu, fc2.weight.f16, -)
fc2.f32: fc2.f32:[2x3]f32 = cast(fc2) to=f32
logp: logp:[2x3]f32 = log_softmax(fc2.f32)
loss: loss:[]f32 = nll_loss(logp, labels)
loss.backward: loss.backward:[2x3]f32 = nll_loss_backward(seed, logp, labels)
logp.backward: logp.backward:[2x3]f32 = log_softmax_backward(loss.backward, logp)
logp.backward.f16: logp.backward.f16:[2x3]f16 = cast(logp.backward) to=f16
fc2.backward_data: fc2.backward_data:[2x8]f16 = linear_backward_data(logp.backward.f16, fc2.weight.f16)
fc2.backward_weight: fc2.backward_weight:[3x8]f32 = linear_backward_weight(logp.backward.f16, relu)
fc2.weight.accumulate: fc2.weight.accumulate:[3x8]f32 = accumulate(fc2.weight.gradient, fc2.backward_weight)
relu.backward: relu.backward:[2x8]f16 = relu_backward(fc2.backward_data, relu)
fc1.backward_weight: fc1.backward_weight:[8x4]f32 = linear_backward_weight(relu.backward, x.f16)
fc1.weight.accumulate: fc1.weight.accumulate:[8x4]f32 = accumulate(fc1.weight.gradient, fc1.backward_weight)
)");
}

TEST_CASE("golden: an override keeps a layer wide", "[passes]") {
    Example e;
    e.differentiated();
    assign_precision(e.graph, {DType::bf16, {{"fc2*", DType::f32}}});
    verify(e.graph, GraphStage::kPrecision);
    CHECK(nodes_of(e.graph) == R"(x.bf16: x.bf16:[2x4]bf16 = cast(x) to=bf16
fc1.weight.bf16: fc1.weight.bf16:[8x4]bf16 = cast(fc1.weight) to=bf16
fc1: fc1:[2x8]bf16 = linear(x.bf16, fc1.weight.bf16, -)
relu: relu:[2x8]bf16 = relu(fc1)
relu.f32: relu.f32:[2x8]f32 = cast(relu) to=f32
fc2: fc2:[2x3]f32 = linear(relu.f32, fc2.weight, -)
logp: logp:[2x3]f32 = log_softmax(fc2)
loss: loss:[]f32 = nll_loss(logp, labels)
loss.backward: loss.backward:[2x3]f32 = nll_loss_backward(seed, logp, labels)
logp.backward: logp.backward:[2x3]f32 = log_softmax_backward(loss.backward, logp)
fc2.backward_data: fc2.backward_data:[2x8]f32 = linear_backward_data(logp.backward, fc2.weight)
fc2.backward_weight: fc2.backward_weight:[3x8]f32 = linear_backward_weight(logp.backward, relu.f32)
fc2.weight.accumulate: fc2.weight.accumulate:[3x8]f32 = accumulate(fc2.weight.gradient, fc2.backward_weight)
relu.backward: relu.backward:[2x8]f32 = relu_backward(fc2.backward_data, relu.f32)
relu.backward.bf16: relu.backward.bf16:[2x8]bf16 = cast(relu.backward) to=bf16
fc1.backward_weight: fc1.backward_weight:[8x4]f32 = linear_backward_weight(relu.backward.bf16, x.bf16)
fc1.weight.accumulate: fc1.weight.accumulate:[8x4]f32 = accumulate(fc1.weight.gradient, fc1.backward_weight)
)");
}

TEST_CASE("golden: cast_into_update reads the stored narrow copy", "[passes]") {
    Example e;
    assign_precision(e.graph, {DType::f16, {}});
    cast_into_update(e.graph, DType::f16, false);
    verify(e.graph, GraphStage::kPrecision);
    CHECK(print(e.graph) == R"(graph example
  input x:[2x4]f32
  input labels:[2]i32
  stored fc1.weight.f16:[8x4]f16 @narrow
  stored fc2.weight.f16:[3x8]f16 @narrow
  x.f16: x.f16:[2x4]f16 = cast(x) to=f16
  fc1: fc1:[2x8]f16 = linear(x.f16, fc1.weight.f16, -)
  relu: relu:[2x8]f16 = relu(fc1)
  fc2: fc2:[2x3]f16 = linear(relu, fc2.weight.f16, -)
  fc2.f32: fc2.f32:[2x3]f32 = cast(fc2) to=f32
  logp: logp:[2x3]f32 = log_softmax(fc2.f32)
  loss: loss:[]f32 = nll_loss(logp, labels)
  output loss_sum = loss
)");
}

TEST_CASE("golden: simplify merges, drops and undoes exact cast round trips", "[passes]") {
    Graph graph;
    graph.name = "simplify";
    GraphBuilder builder(graph);
    const ValueId x = builder.input("x", {Shape{4}, DType::f16});
    const ValueId wide = cast(builder, x, {DType::f32}, "wide");
    const ValueId again = cast(builder, wide, {DType::f16}, "again");  // exact: becomes x
    const ValueId a = relu(builder, again, "a");
    const ValueId b = relu(builder, x, "b");  // the same as a
    relu(builder, b, "dead");                 // nobody reads it
    const ValueId lossy =
        cast(builder, cast(builder, x, {DType::bf16}, "bf16"), {DType::f16}, "back");  // not exact: stays
    builder.output("a", a);
    builder.output("b", b);
    builder.output("lossy", lossy);
    simplify(graph);
    verify(graph, GraphStage::kFused);
    CHECK(print(graph) == R"(graph simplify
  input x:[4]f16
  a: a:[4]f16 = relu(x)
  bf16: bf16:[4]bf16 = cast(x) to=bf16
  back: back:[4]f16 = cast(bf16) to=f16
  output a = a
  output b = a
  output lossy = back
)");
}

TEST_CASE("golden: legalize widens what no kernel takes, and says why", "[passes]") {
    Example e;
    assign_precision(e.graph, {DType::f16, {}});
    KernelTable kernels = reference_kernels();
    kernels.by_op["linear"] = {{"linear", "f32only",
                                [](const Signature& s) {
                                    return std::string(s.in(0).dtype == DType::f32 ? ""
                                                                                   : "computes in f32 only");
                                },
                                nullptr}};
    const std::vector<std::string> said = legalize_precision(e.graph, kernels, 1);
    verify(e.graph, GraphStage::kPrecision);
    CHECK(said == std::vector<std::string>{"fc1 is widened to f32: f32only: computes in f32 only",
                                           "fc2 is widened to f32: f32only: computes in f32 only"});
    CHECK(nodes_of(e.graph) == R"(x.f16: x.f16:[2x4]f16 = cast(x) to=f16
fc1.weight.f16: fc1.weight.f16:[8x4]f16 = cast(fc1.weight) to=f16
fc1: fc1:[2x8]f32 = linear(x, fc1.weight, -)
fc1.f16: fc1.f16:[2x8]f16 = cast(fc1) to=f16
relu: relu:[2x8]f16 = relu(fc1.f16)
fc2.weight.f16: fc2.weight.f16:[3x8]f16 = cast(fc2.weight) to=f16
relu.f32: relu.f32:[2x8]f32 = cast(relu) to=f32
fc2: fc2:[2x3]f32 = linear(relu.f32, fc2.weight, -)
fc2.f16: fc2.f16:[2x3]f16 = cast(fc2) to=f16
fc2.f32: fc2.f32:[2x3]f32 = cast(fc2.f16) to=f32
logp: logp:[2x3]f32 = log_softmax(fc2.f32)
loss: loss:[]f32 = nll_loss(logp, labels)
)");
}

TEST_CASE("the verifier refuses implicit promotion and early reads", "[passes]") {
    Example e;
    e.differentiated();
    assign_precision(e.graph, {DType::f16, {}});
    SECTION("mixed data inputs") {
        for (Node& node : e.graph.nodes)
            if (node.name == "fc1") node.inputs[1] = e.graph.node(0).inputs[0];
        CHECK_THROWS_AS(verify(e.graph, GraphStage::kPrecision), InternalError);
    }
    SECTION("a node before its producer") {
        std::swap(e.graph.nodes.front(), e.graph.nodes.back());
        CHECK_THROWS_AS(verify(e.graph, GraphStage::kPrecision), InternalError);
    }
    SECTION("narrow before assign_precision") {
        CHECK_THROWS_AS(verify(e.graph, GraphStage::kBuilt), InternalError);
    }
    SECTION("a narrow gradient buffer") {
        for (Value& value : e.graph.values)
            if (value.store && value.store->region == Region::kGradient) value.type.dtype = DType::f16;
        CHECK_THROWS_AS(verify(e.graph, GraphStage::kPrecision), InternalError);
    }
}

TEST_CASE("override patterns match whole names", "[passes]") {
    CHECK(matches("layer4.*", "layer4.0.conv1"));
    CHECK(matches("*.conv?", "layer4.0.conv1"));
    CHECK_FALSE(matches("layer4", "layer4.0.conv1"));
    CHECK(matches("*", ""));
    CHECK_FALSE(matches("?", ""));
}
