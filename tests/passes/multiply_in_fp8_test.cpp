// What multiply_in_fp8 does to two layers and a head, as text.
#include "passes/multiply_in_fp8.h"

#include <catch2/catch.hpp>

#include "graph/verifier.h"
#include "ops/linear/linear.h"
#include "ops/relu/relu.h"
#include "passes/append_update.h"
#include "passes/differentiate.h"

using namespace mpt;

namespace {

// x -> fc1 -> relu -> fc2 -> head; the layers are a block each, the head is in none. fc2 has `inner` features
// in.
struct Example {
    Graph graph;
    VariableTable variables;
    GraphBuilder builder{graph, &variables};

    explicit Example(std::int64_t inner, const PrecisionPolicy& policy) {
        graph.name = "example";
        const ValueId x = builder.input("x", {{5, 16}, DType::f32});
        builder.set_block(0);
        const ValueId w1 = builder.parameter("fc1.weight", {inner, 16}, Role::kMatrix, {});
        const ValueId h = relu(builder, linear(builder, x, w1, kNone, "fc1"), "relu");
        builder.set_block(1);
        const ValueId w2 = builder.parameter("fc2.weight", {16, inner}, Role::kMatrix, {});
        const ValueId y = linear(builder, h, w2, kNone, "fc2");
        builder.set_block(kNone);
        const ValueId w3 = builder.parameter("head.weight", {16, 16}, Role::kMatrix, {});
        const ValueId z = linear(builder, y, w3, kNone, "head");
        builder.output("z", z);
        const ValueId seed = builder.input("seed", {{5, 16}, DType::f32});
        append_accumulation(builder, differentiate(builder, z, seed));
        assign_precision(graph, policy);
    }
    std::string products() const {
        std::string text;
        for (const Node& node : graph.nodes) {
            const std::string op(node.op->name);
            if (op.find("fp8") == std::string::npos && op.find("linear") == std::string::npos) continue;
            text += node.name + ": " + op;
            for (const ValueId id : node.inputs) text += " " + (id == kNone ? "-" : graph.value(id).name);
            text += node.attributes.text().empty() ? "\n" : " | " + node.attributes.text() + "\n";
        }
        return text;
    }
};

PrecisionPolicy fp8_policy() {
    PrecisionPolicy policy;
    policy.narrow = DType::bf16;
    policy.fp8 = {4, 1};
    return policy;
}

}  // namespace

TEST_CASE("multiply_in_fp8: each tensor of a block is quantised once, for all that read it") {
    const PrecisionPolicy policy = fp8_policy();
    Example e(32, policy);
    CHECK(multiply_in_fp8(e.builder, policy).empty());
    verify(e.graph, GraphStage::kPrecision);
    CHECK(e.products() ==
          R"(x.bf16.e4m3: quantize_fp8 x.bf16 x.bf16.e4m3.scaling | to=e4m3 rows columns margin=1
fc1.weight.bf16.e4m3: quantize_fp8 fc1.weight.bf16 fc1.weight.bf16.e4m3.scaling | to=e4m3 rows margin=1
fc1: linear_fp8 x.bf16.e4m3:2 fc1.weight.bf16.e4m3:2 x.bf16.e4m3:1 fc1.weight.bf16.e4m3:1 - | to=bf16
relu.e4m3: quantize_fp8 relu relu.e4m3.scaling | to=e4m3 rows columns margin=1
fc2.weight.bf16.e4m3: quantize_fp8 fc2.weight.bf16 fc2.weight.bf16.e4m3.scaling | to=e4m3 rows columns margin=1
fc2: linear_fp8 relu.e4m3:2 fc2.weight.bf16.e4m3:2 relu.e4m3:1 fc2.weight.bf16.e4m3:1 - | to=bf16
head: linear fc2 head.weight.bf16 -
head.backward_data: linear_backward_data seed.bf16 head.weight.bf16
head.backward_weight: linear_backward_weight seed.bf16 fc2
head.backward_data.e5m2: quantize_fp8 head.backward_data head.backward_data.e5m2.scaling | to=e5m2 rows columns margin=1
fc2.backward_data: linear_fp8 head.backward_data.e5m2:2 fc2.weight.bf16.e4m3:3 head.backward_data.e5m2:1 fc2.weight.bf16.e4m3:1 | to=bf16
fc2.backward_weight: linear_fp8 head.backward_data.e5m2:3 relu.e4m3:3 head.backward_data.e5m2:1 relu.e4m3:1 | to=f32
relu.backward.e5m2: quantize_fp8 relu.backward relu.backward.e5m2.scaling | to=e5m2 columns margin=1
fc1.backward_weight: linear_fp8 relu.backward.e5m2:2 x.bf16.e4m3:3 relu.backward.e5m2:1 x.bf16.e4m3:1 | to=f32
)");
    CHECK(e.variables.scaling().size() == 6);
    for (const ScalingState& state : e.variables.scaling()) CHECK(state.elements == 2 + 4);
}

TEST_CASE(
    "multiply_in_fp8 leaves sizes that are no multiples of 16, and says so, and what an override names") {
    PrecisionPolicy policy = fp8_policy();
    Example odd(24, policy);
    const std::vector<std::string> kept = multiply_in_fp8(odd.builder, policy);
    REQUIRE(kept.size() == 5);  // no gradient of x is wanted
    CHECK(kept[0] == "fc1 stays bf16: 16 -> 24 features are no multiples of 16");
    CHECK(odd.products().find("fp8") == std::string::npos);
    policy.overrides = {{"fc1*", DType::bf16}};
    Example named(32, policy);
    CHECK(multiply_in_fp8(named.builder, policy).empty());
    CHECK(named.variables.scaling().size() == 3);
}
