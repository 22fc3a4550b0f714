// Losses and hits at values where naive forms overflow or disagree; each with closed-form expectations, on
// the reference and on the fast kernels, and through the plain ops (cast, log_softmax, nll_loss) as well.
#include <catch2/catch.hpp>
#include <cmath>

#include "ops/cast/cast.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "ops/top_k_hits/top_k_hits.h"
#include "support/graph_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

struct LossAndGradient {
    double loss = 0;
    DType loss_type = DType::f32;
    std::vector<double> gradient;
};

enum class Form { kFused, kPlain };

struct LossCase {
    std::vector<double> logits;  // of all rows
    std::vector<double> labels;
    DType dtype = DType::f32;
    LossAttributes attributes = {};
    std::vector<double> second = {}, share = {};  // of mixed samples
};

LossAndGradient run_loss(const LossCase& c, Form form, const KernelTable& kernels) {
    Graph graph;
    GraphBuilder b(graph);
    const auto rows = static_cast<std::int64_t>(c.labels.size());
    const Shape shape{rows, static_cast<std::int64_t>(c.logits.size()) / rows};
    const ValueId z = b.input("z", {shape, c.dtype});
    LossLabels labels = b.input("labels", {{rows}, DType::i32});
    if (!c.second.empty()) {
        labels.second = b.input("second", {{rows}, DType::i32});
        labels.share = b.input("share", {{rows}, DType::f32});
    }
    const ValueId seed = b.input("seed", {{}, DType::f32});
    ValueId loss = kNone, gradient = kNone;
    if (form == Form::kFused) {
        const auto out = softmax_cross_entropy(b, z, labels, c.attributes);
        loss = out.loss_sum;
        gradient = softmax_cross_entropy_backward(b, {seed, z, labels, out.logsumexp}, c.attributes);
    } else {
        const ValueId wide = cast(b, z, {DType::f32});
        const ValueId logp = log_softmax(b, wide, {c.attributes.vocabulary});
        loss = nll_loss(b, logp, labels, c.attributes);
        gradient = log_softmax_backward(b, nll_loss_backward(b, seed, logp, labels, c.attributes), logp,
                                        {c.attributes.vocabulary});
    }
    GraphRun run(graph, kernels, 2);
    run.set(z, c.logits);
    run.set(labels.first, c.labels);
    if (!c.second.empty()) {
        run.set(labels.second, c.second);
        run.set(labels.share, c.share);
    }
    run.set(seed, {1});
    run.run();
    return {run.get(loss)[0], graph.type(loss).dtype, run.get(gradient)};
}

template <typename Check>
void for_all_forms(const LossCase& c, const Check& check) {
    for (const Form form : {Form::kFused, Form::kPlain})
        for (const KernelTable* kernels : {&reference_kernels(), &cpu_kernels()}) {
            INFO((form == Form::kFused ? "fused " : "plain ")
                 << (kernels == &cpu_kernels() ? "fast" : "reference"));
            const LossAndGradient result = run_loss(c, form, *kernels);
            CHECK(result.loss_type == DType::f32);
            for (const double g : result.gradient) REQUIRE(std::isfinite(g));
            check(result);
        }
}

}  // namespace

TEST_CASE("cross entropy of a confident wrong answer is the difference of the logits") {
    for_all_forms({{-100, 100}, {0}}, [](const LossAndGradient& r) {
        CHECK(r.loss == Approx(200.0));
        CHECK(r.gradient[0] == Approx(-1.0));
        CHECK(r.gradient[1] == Approx(1.0));
    });
}

TEST_CASE("cross entropy of half-precision logits near their greatest does not overflow") {
    for_all_forms({{60000, -60000}, {1}, DType::f16}, [](const LossAndGradient& r) {
        CHECK(r.loss == Approx(120000.0));
        CHECK(r.gradient[0] == Approx(1.0));
        CHECK(r.gradient[1] == Approx(-1.0));
    });
}

TEST_CASE("cross entropy of many equal logits is the logarithm of their number") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for_all_forms({std::vector<double>(50000, 3.0), {49999}, dtype}, [](const LossAndGradient& r) {
            CHECK(std::abs(r.loss - std::log(50000.0)) < 1e-5 * std::log(50000.0));
            CHECK(r.gradient[0] == Approx(2e-5).epsilon(0.01));
            CHECK(r.gradient[49999] == Approx(2e-5 - 1).epsilon(0.001));
        });
}

TEST_CASE("ignored rows add no loss and no gradient, whatever they hold") {
    const LossCase c{{1, 2, 1e30, -1e30, 2, 2}, {0, -1, 1}};
    for_all_forms(c, [](const LossAndGradient& r) {
        CHECK(r.loss == Approx(std::log1p(std::exp(1.0)) + std::log(2.0)));
        CHECK(r.gradient[2] == 0.0);
        CHECK(r.gradient[3] == 0.0);
    });
    for_all_forms({{1, 2}, {-1}}, [](const LossAndGradient& r) { CHECK(r.loss == 0.0); });
}

TEST_CASE("label smoothing spreads the target over all classes") {
    // With all logits equal, any target of sum one gives ln V, and the gradient is 1/V - target.
    for_all_forms({{1, 1, 1, 1}, {2}, DType::f32, {0.2, -1}}, [](const LossAndGradient& r) {
        CHECK(r.loss == Approx(std::log(4.0)));
        CHECK(r.gradient[0] == Approx(0.25 - 0.05));
        CHECK(r.gradient[2] == Approx(0.25 - 0.85));
    });
}

// torch.nn.functional.cross_entropy(z, target, label_smoothing=0.1, reduction="sum") of PyTorch 1.13 with
// target = share * one_hot(labels) + (1 - share) * one_hot(second), and its gradient.
TEST_CASE("mixed samples have the loss and gradient of PyTorch's soft targets") {
    const LossCase c{{0.5, -1, 2, 0.25, 1, 1, -0.5, 0, 3, -2, 0, 1},
                     {2, 0, 1},
                     DType::f32,
                     {0.1, -1},
                     {0, 0, 3},
                     {0.75, 0.3f, 0.5}};
    for_all_forms(c, [](const LossAndGradient& r) {
        CHECK(r.loss == Approx(5.453091968).epsilon(1e-6));
        const std::vector<double> expected = {-0.095765175, 0.009414441,  -0.008767469, 0.095118203,
                                              -0.539050060, 0.360949940,  0.061117072,  0.116983048,
                                              0.814024507,  -0.469346697, 0.016772571,  -0.361450381};
        REQUIRE(r.gradient.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            CHECK(r.gradient[i] == Approx(expected[i]).margin(1e-6));
    });
}

TEST_CASE("a share of one is the plain loss to the bit, whatever the second label has") {
    const LossCase plain{{0.5, -1, 60000, 0.25, 1, -60000}, {1, 1}, DType::f16};
    LossCase mixed = plain;
    mixed.second = {2, 0};
    mixed.share = {1, 1};
    for (const Form form : {Form::kFused, Form::kPlain})
        for (const KernelTable* kernels : {&reference_kernels(), &cpu_kernels()}) {
            const LossAndGradient a = run_loss(plain, form, *kernels), b = run_loss(mixed, form, *kernels);
            CHECK(a.loss == b.loss);
            CHECK(a.gradient == b.gradient);
        }
}

TEST_CASE("columns beyond the vocabulary have no probability and no gradient, whatever they hold") {
    const LossCase c{{1, 1, 60000, 1, 1, -60000}, {0, 1}, DType::f16, {0.2, -1, 2}};
    for_all_forms(c, [](const LossAndGradient& r) {
        CHECK(r.loss == Approx(2 * std::log(2.0)));
        CHECK(r.gradient[0] == Approx(0.5 - 0.9).epsilon(1e-3));
        CHECK(r.gradient[1] == Approx(0.5 - 0.1).epsilon(1e-3));
        CHECK(r.gradient[2] == 0.0);
        CHECK(r.gradient[5] == 0.0);
    });
}

namespace {

std::pair<double, double> hits(std::int64_t classes, const std::vector<double>& logits,
                               const std::vector<double>& labels, const KernelTable& kernels) {
    Graph graph;
    GraphBuilder b(graph);
    const auto rows = static_cast<std::int64_t>(labels.size());
    const ValueId z = b.input("z", {{rows, classes}, DType::f32});
    const ValueId l = b.input("labels", {{rows}, DType::i32});
    const TopKHitsOutputs out = top_k_hits(b, z, l);
    GraphRun run(graph, kernels);
    run.set(z, logits);
    run.set(l, labels);
    run.run();
    return {run.get(out.hits1)[0], run.get(out.hits5)[0]};
}

}  // namespace

TEST_CASE("top-5 with fewer than five classes is every counted sample") {
    for (const KernelTable* kernels : {&reference_kernels(), &cpu_kernels()}) {
        CHECK(hits(3, {1, 2, 3, 3, 2, 1, 1, 3, 2}, {0, 0, 1}, *kernels) == std::pair(2.0, 3.0));
        CHECK(hits(1, {7, -7}, {0, 0}, *kernels) == std::pair(2.0, 2.0));
        CHECK(hits(3, {1, 2, 3, 3, 2, 1}, {-1, 0}, *kernels) == std::pair(1.0, 1.0));
    }
}

TEST_CASE("hits with ties and values that are not numbers") {
    const double nan = std::nan("");
    const std::vector<double> equal(20, 1.0);
    for (const KernelTable* kernels : {&reference_kernels(), &cpu_kernels()}) {
        // Of equal logits the lower index counts as greater: a constant model is right as often as chance.
        CHECK(hits(10, equal, {0, 4}, *kernels) == std::pair(1.0, 2.0));
        CHECK(hits(10, equal, {5, 9}, *kernels) == std::pair(0.0, 0.0));
        CHECK(hits(3, {nan, nan, nan, 1, nan, 2}, {1, 2}, *kernels) == std::pair(0.0, 1.0));
    }
}
