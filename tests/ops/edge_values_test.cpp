// Values the random samples of the generic op test do not reach: NaN, and padded pooling through both
// directions.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/philox.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/max_pool/max_pool.h"
#include "ops/relu/relu.h"
#include "support/graph_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// A function: the tables are made from the ops' descriptions, which are objects of other files.
std::vector<const KernelTable*> both() {
    return {&reference_kernels(), &cpu_kernels()};
}

}  // namespace

TEST_CASE("relu keeps NaN and lets no gradient through it") {
    for (const KernelTable* kernels : both())
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
            Graph graph;
            GraphBuilder b(graph);
            const ValueId x = b.input("x", {{9}, dtype});
            const ValueId y = relu(b, x);
            const ValueId grad = relu_backward(b, x, y);
            GraphRun run(graph, *kernels);
            run.set(x, {std::nan(""), -1, 2, 0, -0.0, INFINITY, -INFINITY, 1, std::nan("")});
            run.run();
            const std::vector<double> got = run.get(y), passed = run.get(grad);
            CHECK((std::isnan(got[0]) && std::isnan(got[8])));
            CHECK((got[1] == 0 && got[2] == 2 && got[3] == 0 && got[4] == 0 && got[5] == INFINITY &&
                   got[6] == 0));
            CHECK((passed[0] == 0 && passed[2] == 2 && passed[3] == 0 && passed[8] == 0));
        }
}

TEST_CASE("a NaN in a pooling window wins, the first of them, and padding never does") {
    for (const KernelTable* kernels : both()) {
        Graph graph;
        GraphBuilder b(graph);
        const ValueId x = b.input("x", {{1, 3, 3, 1}, DType::f32});
        const MaxPoolOutputs out = max_pool(b, x, {3, 2, 1});
        GraphRun run(graph, *kernels);
        const double nan = std::nan("");
        run.set(x, {-5, -7, -8, -6, -9, nan, -9, nan, -9});
        run.run();
        const std::vector<double> y = run.get(out.y), index = run.get(out.index);
        CHECK(y[0] == -5);
        CHECK(index == std::vector<double>{4, 7, 5, 1});
        CHECK((std::isnan(y[1]) && std::isnan(y[2]) && std::isnan(y[3])));
    }
}

TEST_CASE("padded pooling sends each gradient to the place of its maximum") {
    for (const std::int64_t channels : {1, 8, 13})
        for (const MaxPoolAttributes a : {MaxPoolAttributes{3, 2, 1}, MaxPoolAttributes{3, 1, 1},
                                          MaxPoolAttributes{2, 3, 1}, MaxPoolAttributes{5, 2, 2}}) {
            INFO(channels << " channels, " << print(a));
            Graph graph;
            GraphBuilder b(graph);
            const ValueId x = b.input("x", {{2, 7, 8, channels}, DType::f32});
            const MaxPoolOutputs out = max_pool(b, x, a);
            const ValueId grad = max_pool_backward(b, out.y, out.index, {a.window, a.stride, a.pad, 7, 8});
            RandomStream random(5, RandomPurpose::kSample, 1);
            std::vector<double> values;
            for (std::int64_t i = 0; i < graph.type(x).shape.num_elements(); ++i)
                values.push_back(static_cast<double>(random.below(50)));
            std::vector<std::vector<double>> results;
            for (const KernelTable* kernels : both()) {
                GraphRun run(graph, *kernels, 3);
                run.set(x, values);
                run.run();
                results.push_back(run.get(grad));
            }
            CHECK(results[0] == results[1]);  // sums of small integers are exact
        }
}

TEST_CASE("running statistics follow PyTorch's rule") {
    // Batch {1, 2, 3, 4}: mean 2.5, biased variance 1.25, unbiased 5/3; momentum 0.1 from 0 and 1.
    Graph graph;
    GraphBuilder b(graph);
    const TensorType vector{{1}, DType::f32};
    const ValueId x = b.input("x", {{4, 1}, DType::f32});
    const ValueId gamma = b.input("gamma", vector), beta = b.input("beta", vector);
    const ValueId mean = b.input("running_mean", vector), var = b.input("running_var", vector);
    const BatchNormOutputs norm = batch_norm(b, x, gamma, beta);
    const RunningStatisticsOutputs updated =
        running_statistics(b, {mean, var, norm.mean, norm.rstd}, {0.1, 1e-5, 4});
    for (const KernelTable* kernels : both()) {
        GraphRun run(graph, *kernels);
        run.set(x, {1, 2, 3, 4});
        run.set(gamma, {1});
        run.set(beta, {0});
        run.set(mean, {0});
        run.set(var, {1});
        run.run();
        CHECK(run.get(updated.running_mean)[0] == Approx(0.25));
        CHECK(run.get(updated.running_var)[0] == Approx(0.9 + 0.1 * 5 / 3).epsilon(1e-6));
        CHECK(run.get(norm.y)[0] == Approx(-1.5 / std::sqrt(1.25 + 1e-5)));
    }
}
