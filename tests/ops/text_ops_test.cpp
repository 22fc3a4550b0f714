// Ops of text models: PyTorch's values and gradients (tests/golden), and what random samples do not reach:
// masks that leave nothing, scores near the end of f16, the statistics of dropout, ids outside the table.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/philox.h"
#include "ops/attention/attention.h"
#include "ops/dropout/dropout.h"
#include "ops/embedding/embedding.h"
#include "ops/gelu/gelu.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/rope/rope.h"
#include "ops/silu/silu.h"
#include "support/golden.h"
#include "support/graph_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

std::vector<const KernelTable*> both() {
    return {&reference_kernels(), &cpu_kernels()};
}

// Inputs by name, absent ones kNone.
struct Inputs {
    const std::map<std::string, ValueId>& by_name;
    ValueId operator[](const std::string& name) const {
        const auto found = by_name.find(name);
        return found == by_name.end() ? kNone : found->second;
    }
};

// Adds the op of a case of the golden file.
void build(GraphBuilder& b, const std::string& name, const Inputs& in) {
    if (name == "layer_norm") layer_norm(b, in["x"], in["gain"], in["bias"]);
    if (name == "rms_norm") rms_norm(b, in["x"], in["gain"]);
    if (name == "gelu exact") gelu(b, in["x"], {GeluForm::kExact});
    if (name == "gelu tanh") gelu(b, in["x"], {GeluForm::kTanh});
    if (name == "silu") silu(b, in["x"]);
    if (name == "rope") rope(b, in["x"]);
    if (name == "embedding") embedding(b, in["ids"], in["table"], {2});
    if (name.starts_with("attention"))
        attention(b, {in["q"], in["k"], in["v"], in["lengths"]},
                  {.causal = name.find("causal") != std::string::npos});
}

Shape shape_of(const nlohmann::json& tensor) {
    return Shape(tensor["shape"].get<std::vector<std::int64_t>>());
}
std::vector<double> values_of(const nlohmann::json& tensor) {
    return tensor["values"].get<std::vector<double>>();
}

double greatest_difference(const std::vector<double>& got, const std::vector<double>& expected) {
    REQUIRE(got.size() == expected.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        worst = std::max(worst, std::abs(got[i] - expected[i]) / (1 + std::abs(expected[i])));
    return worst;
}

void check_case(const std::string& name, const nlohmann::json& c, const KernelTable& kernels) {
    Graph graph;
    GraphBuilder b(graph);
    std::map<std::string, ValueId> inputs;
    for (const auto& [input, tensor] : c["inputs"].items())
        inputs[input] =
            b.input(input, {shape_of(tensor), c["gradients"].contains(input) ? DType::f32 : DType::i32});
    build(b, name, Inputs{inputs});
    REQUIRE(graph.nodes.size() == 1);
    const Node node = graph.nodes[0];
    const ValueId weights = b.input("weights", graph.type(node.outputs[0]));
    std::vector<ValueId> output_gradients(node.outputs.size(), kNone);
    output_gradients[0] = weights;
    GradientContext context(b, node, output_gradients);
    node.op->differentiate(context);

    GraphRun run(graph, kernels, 2);
    for (const auto& [input, tensor] : c["inputs"].items()) run.set(inputs.at(input), values_of(tensor));
    run.set(weights, values_of(c["weights"]));
    run.run();
    // Fast kernels and PyTorch differ by f32 rounding only.
    constexpr double kAllowed = 2e-6;
    for (std::size_t o = 0; o < c["outputs"].size(); ++o)
        CHECK(greatest_difference(run.get(node.outputs[o]), values_of(c["outputs"][o])) < kAllowed);
    for (const auto& [input, gradient] : c["gradients"].items())
        for (const auto& [index, id] : context.results)
            if (node.inputs[static_cast<std::size_t>(index)] == inputs.at(input)) {
                INFO("gradient of " << input);
                CHECK(greatest_difference(run.get(id), values_of(gradient)) < kAllowed);
            }
}

}  // namespace

TEST_CASE("ops of text models give PyTorch's values and gradients") {
    const nlohmann::json cases = golden("torch_text_ops")["cases"];
    CHECK(cases.size() == 11);
    for (const auto& [name, c] : cases.items())
        for (const KernelTable* kernels : both()) {
            INFO(name << (kernels == &cpu_kernels() ? ", fast" : ", reference"));
            check_case(name, c, *kernels);
        }
}

namespace {

struct AttentionRun {
    Graph graph;
    ValueId q, k, v, lengths, grad_o;
    AttentionOutputs out;
    std::vector<ValueId> gradients;  // of q, k and v

    AttentionRun(const Shape& shape, DType dtype, AttentionAttributes attributes) {
        GraphBuilder b(graph);
        const TensorType type{shape, dtype};
        q = b.input("q", type), k = b.input("k", type), v = b.input("v", type);
        lengths = b.input("lengths", {{shape[0]}, DType::i32});
        grad_o = b.input("grad_o", type);
        out = attention(b, {q, k, v, lengths}, attributes);
        gradients = b.node(attention_backward_op, attributes,
                           {grad_o, q, k, v, out.o, out.logsumexp, lengths, kNone}, "backward");
    }
    std::vector<ValueId> results() const {
        return {out.o, out.logsumexp, gradients[0], gradients[1], gradients[2]};
    }
};

}  // namespace

TEST_CASE("attention over nothing gives zero and no gradient, also next to what is not padding") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const KernelTable* kernels : both()) {
            AttentionRun attention({2, 3, 1, 4}, dtype, {true});
            GraphRun run(attention.graph, *kernels);
            for (const ValueId id : {attention.q, attention.k, attention.v, attention.grad_o})
                run.set(id, std::vector<double>(24, 0.5));
            run.set(attention.lengths, {0, 3});
            run.run();
            for (const ValueId id : attention.results())
                for (const double value : run.get(id)) REQUIRE(std::isfinite(value));
            const std::vector<double> o = run.get(attention.out.o);
            const std::vector<double> grad_v = run.get(attention.gradients[2]);
            for (std::size_t i = 0; i < 12; ++i) CHECK((o[i] == 0 && grad_v[i] == 0));
            for (std::size_t i = 12; i < 24; ++i) CHECK(o[i] == Approx(0.5));
            // The first key is seen by three queries, a whole, a half and a third.
            CHECK(grad_v[12] == Approx(0.5 * (1 + 0.5 + 1.0 / 3)).epsilon(0.01));
        }
}

TEST_CASE("attention in f16 does not overflow where its scores leave the range of f16") {
    for (const KernelTable* kernels : both()) {
        AttentionRun attention({1, 2, 1, 64}, DType::f16, {});
        GraphRun run(attention.graph, *kernels);
        // Scores are +-200 * 300 * 64 / 8 = +-480000: each query sees one key alone.
        std::vector<double> q(128), k(128), v(128);
        for (std::size_t i = 0; i < 128; ++i) {
            const double sign = i < 64 ? 1 : -1;
            q[i] = 200 * sign;
            k[i] = 300 * sign;
            v[i] = 60000 * sign;
        }
        run.set(attention.q, q);
        run.set(attention.k, k);
        run.set(attention.v, v);
        run.set(attention.grad_o, std::vector<double>(128, 1.0));
        run.set(attention.lengths, {2});
        run.run();
        CHECK(run.get(attention.out.logsumexp) == std::vector<double>{480000, 480000});
        CHECK(greatest_difference(run.get(attention.out.o), v) < 1e-3);
        for (const ValueId id : {attention.gradients[0], attention.gradients[1]})
            for (const double value : run.get(id)) CHECK(value == 0);
        for (const double value : run.get(attention.gradients[2])) CHECK(value == 1);
    }
}

namespace {

std::vector<double> dropped(const DropoutAttributes& attributes, double step, const KernelTable& kernels,
                            int num_threads = 1) {
    Graph graph;
    GraphBuilder b(graph);
    const ValueId x = b.input("x", {{100003}, DType::f32});
    const ValueId at = b.input("step", {{}, DType::i32});
    const ValueId y = dropout(b, x, at, attributes);
    GraphRun run(graph, kernels, num_threads);
    run.set(x, std::vector<double>(100003, 1.0));
    run.set(at, {step});
    run.run();
    return run.get(y);
}

}  // namespace

TEST_CASE("dropout drops its share and scales the rest; seed, stream and step each change the mask") {
    const DropoutAttributes attributes{0.3, 1234567890123ull, 7};
    const std::vector<double> y = dropped(attributes, 5, cpu_kernels());
    CHECK(y == dropped(attributes, 5, reference_kernels()));
    CHECK(y == dropped(attributes, 5, cpu_kernels(), 3));
    double zeros = 0, both_zero = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        CHECK((y[i] == 0 || y[i] == Approx(1 / 0.7)));
        zeros += y[i] == 0 ? 1 : 0;
        both_zero += i > 0 && y[i] == 0 && y[i - 1] == 0 ? 1 : 0;
    }
    const double n = static_cast<double>(y.size());
    CHECK(std::abs(zeros / n - 0.3) < 5 * std::sqrt(0.3 * 0.7 / n));
    CHECK(std::abs(both_zero / n - 0.09) < 7 * std::sqrt(0.09 * 0.91 / n));
    for (const auto& [other, step] : {std::pair{DropoutAttributes{0.3, 1234567890124ull, 7}, 5.0},
                                      {DropoutAttributes{0.3, 1234567890123ull, 8}, 5.0},
                                      {attributes, 6.0}}) {
        const std::vector<double> z = dropped(other, step, cpu_kernels());
        double same = 0;
        for (std::size_t i = 0; i < y.size(); ++i) same += y[i] == z[i] ? 1 : 0;
        CHECK(std::abs(same / n - 0.58) < 5 * std::sqrt(0.58 * 0.42 / n));  // independent: 0.3^2 + 0.7^2
    }
}

TEST_CASE("a token id outside the table is an error in every kernel") {
    for (const double id : {-1.0, 5.0, 1e6})
        for (const KernelTable* kernels : both()) {
            Graph graph;
            GraphBuilder b(graph);
            const ValueId ids = b.input("ids", {{3}, DType::i32});
            const ValueId table = b.input("table", {{5, 4}, DType::f32});
            const ValueId y = embedding(b, ids, table);
            embedding_backward(b, y, ids, {5, -1});
            GraphRun run(graph, *kernels);
            run.set(table, std::vector<double>(20, 1.0));
            run.set(ids, {0, 1, id});
            CHECK_THROWS_WITH(run.run_nodes(0, 1), Catch::Contains("token id"));
            CHECK_THROWS_WITH(run.run_nodes(1, 2), Catch::Contains("token id"));
        }
}
