// The residual sum and the layer norm that reads it, fused: the graph, and the same values as without.
#include <catch2/catch.hpp>

#include "core/philox.h"
#include "ops/add/add.h"
#include "ops/add_layer_norm/add_layer_norm.h"
#include "passes/fuse.h"
#include "support/graph_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// Two residual sums with a norm each: y = norm(s + norm(s)) with s = x + branch.
struct Network {
    Graph graph;
    VariableTable variables;
    std::vector<ValueId> inputs;
    ValueId seed = kNone;

    explicit Network(DType dtype) {
        GraphBuilder b(graph, &variables);
        const Shape shape{6, 40};
        const auto input = [&](const char* name, TensorType type) {
            inputs.push_back(b.input(name, std::move(type)));
            return inputs.back();
        };
        const ValueId x = input("x", {shape, dtype}), branch = input("branch", {shape, dtype});
        const ValueId gain = input("gain", {{40}, DType::f32}), bias = input("bias", {{40}, DType::f32});
        const ValueId first = add(b, x, branch, "first");
        const LayerNormOutputs norm = layer_norm(b, first, gain, bias, {}, "norm1");
        const ValueId second = add(b, first, norm.y, "second");
        const LayerNormOutputs last = layer_norm(b, second, gain, bias, {}, "norm2");
        b.set_phase(Phase::kBackward);
        seed = input("seed", {shape, dtype});
        const LayerNormGradients g2 =
            layer_norm_backward(b, {seed, second, gain, last.mean, last.rstd}, "norm2.backward");
        const ValueId grad_second = add(b, seed, g2.grad_x, "grad_second");
        const LayerNormGradients g1 =
            layer_norm_backward(b, {grad_second, first, gain, norm.mean, norm.rstd}, "norm1.backward");
        b.output("y", last.y);
        b.output("grad_first", add(b, g1.grad_x, grad_second, "grad_first"));
        b.output("grad_gain", add(b, g1.grad_gain, g2.grad_gain, "grad_gain"));
    }
    int count(const OpType& op) const {
        int found = 0;
        for (const Node& node : graph.nodes) found += node.op == &op ? 1 : 0;
        return found;
    }
    std::vector<double> run(const std::string& output) const {
        GraphRun run(graph, cpu_kernels(), 2);
        for (const ValueId id : inputs) {
            RandomStream random(3, RandomPurpose::kSample, static_cast<std::uint64_t>(id));
            std::vector<double> values;
            for (std::int64_t i = 0; i < graph.type(id).shape.num_elements(); ++i)
                values.push_back(static_cast<double>(random.uniform()) * 2 - 1);
            run.set(id, values);
        }
        run.run();
        return run.get(graph.output(output));
    }
};

}  // namespace

TEST_CASE("layer norms take the residual sums before and after them") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const Network plain(dtype);
        Network fused(dtype);
        fuse(fused.graph, cpu_kernels());
        CHECK(fused.count(add_layer_norm_op) == 2);
        CHECK(fused.count(layer_norm_backward_add_op) == 2);
        CHECK(fused.count(layer_norm_op) + fused.count(layer_norm_backward_op) == 0);
        CHECK(fused.count(add_op) == 1);          // of the gradients of the gain
        CHECK(fused.run("y") == plain.run("y"));  // bit by bit
        // One rounding to the stored type in place of two.
        const double allowed = dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 4e-3 : 3e-2;
        for (const char* output : {"grad_first", "grad_gain"}) {
            const std::vector<double> got = fused.run(output), expected = plain.run(output);
            double worst = 0, scale = 0;
            for (std::size_t i = 0; i < got.size(); ++i) {
                worst = std::max(worst, std::abs(got[i] - expected[i]));
                scale = std::max(scale, std::abs(expected[i]));
            }
            CHECK(worst <= allowed * scale);
        }
    }
}
