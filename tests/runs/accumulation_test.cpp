// H04 without a model that normalises over the batch: accumulated gradients are those of the window's mean,
// also when the last window is short.
#include <catch2/catch.hpp>
#include <cstring>

#include "core/philox.h"
#include "exec/executor.h"
#include "layers/update.h"
#include "ops/linear/linear.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/loss_seed/loss_seed.h"
#include "ops/nll_loss/nll_loss.h"
#include "ops/relu/relu.h"
#include "passes/pipeline.h"

using namespace mpt;

namespace {

constexpr std::int64_t kFeatures = 6, kHidden = 5, kClasses = 3, kSamples = 10;

// A two-layer perceptron trained by plain SGD on fixed samples in order.
class Perceptron {
  public:
    Perceptron() {
        GraphBuilder builder(update_graph_, &variables_);
        for (const std::int64_t batch : {2, 8}) micro_graphs_.emplace_back(batch, build(batch));
        UpdateConfig config;
        config.rule.schedule.base = 0.5;
        config.optimizer = SgdUpdateAttributes{0, false, 0, decay_groups(variables_, {}).segments};
        enable_update_regions(variables_, config);
        build_update(builder, config);
        std::int64_t bytes = 0;
        for (auto& [batch, graph] : micro_graphs_) {
            plans_.push_back(std::make_unique<Plan>(compile(graph, {&reference_kernels(), 1})));
            bytes = std::max(bytes, plans_.back()->arena_bytes);
        }
        update_plan_ = compile(update_graph_, {&reference_kernels(), 1});
        const StoreLayout layout = lay_out(variables_, std::max(bytes, update_plan_.arena_bytes));
        memory_.assign(static_cast<std::size_t>(layout.bytes) + 64, std::byte{0});
        std::byte* base = memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64;
        store_ = Store(variables_, layout, base);
        const StepControl control = initial_control(config.rule);
        std::memcpy(store_.region(Region::kControl), &control, sizeof control);
        RandomStream random(5, RandomPurpose::kInit, 0);
        for (const Variable& v : variables_.all())
            for (std::int64_t i = 0; i < v.shape.num_elements(); ++i)
                master()[v.offset + i] = random.normal() * 0.5f;
    }

    // One update on samples [first, first + samples), in micro-steps of `micro`.
    void window(std::int64_t first, std::int64_t samples, std::int64_t micro) {
        for (std::int64_t at = first; at < first + samples; at += micro) {
            const std::size_t index = micro == 2 ? 0 : 1;
            const Executor executor(*plans_[index], store_);
            RandomStream random(9, RandomPurpose::kSynthetic, 0);
            std::vector<float> all(static_cast<std::size_t>(kSamples * kFeatures));
            for (float& value : all) value = random.normal();
            std::memcpy(executor.input<float>("x").data(), all.data() + at * kFeatures,
                        static_cast<std::size_t>(micro * kFeatures) * sizeof(float));
            for (std::int64_t i = 0; i < micro; ++i)
                executor.input<std::int32_t>("labels")[static_cast<std::size_t>(i)] =
                    static_cast<std::int32_t>((at + i) % kClasses);
            executor.input<float>("weight")[0] = 1.0f / static_cast<float>(samples);
            executor.run();
        }
        Executor(update_plan_, store_).run();
    }

    float* master() { return reinterpret_cast<float*>(store_.region(Region::kMaster)); }
    std::vector<float> weights() { return {master(), master() + variables_.parameter_elements()}; }
    StepControl control() {
        StepControl control;
        std::memcpy(&control, store_.region(Region::kControl), sizeof control);
        return control;
    }

  private:
    Graph build(std::int64_t batch) {
        Graph graph;
        graph.name = "micro_step";
        GraphBuilder builder(graph, &variables_);
        const ValueId x = builder.input("x", {{batch, kFeatures}, DType::f32});
        const ValueId labels = builder.input("labels", {Shape{batch}, DType::i32});
        const ValueId w1 = builder.parameter("fc1.weight", {kHidden, kFeatures}, Role::kMatrix, {});
        const ValueId b1 = builder.parameter("fc1.bias", Shape{kHidden}, Role::kBias, {});
        const ValueId w2 = builder.parameter("fc2.weight", {kClasses, kHidden}, Role::kMatrix, {});
        const ValueId z = linear(builder, relu(builder, linear(builder, x, w1, b1, "fc1")), w2, kNone, "fc2");
        const ValueId loss = nll_loss(builder, log_softmax(builder, z), labels);
        builder.output("loss_sum", loss);
        const ValueId seed =
            loss_seed(builder, builder.input("weight", {{}, DType::f32}), control_value(builder));
        PipelineOptions options;
        options.kernels = &reference_kernels();
        run_pipeline(builder, loss, seed, options);
        return graph;
    }

    VariableTable variables_;
    Graph update_graph_;
    std::vector<std::pair<std::int64_t, Graph>> micro_graphs_;
    std::vector<std::unique_ptr<Plan>> plans_;
    Plan update_plan_;
    std::vector<std::byte> memory_;
    Store store_;
};

}  // namespace

TEST_CASE("H04: windows of micro-steps equal single batches of 8 and 2", "[accumulation]") {
    Perceptron accumulated, single;
    const std::vector<float> start = single.weights();
    for (int epoch = 0; epoch < 2; ++epoch) {
        accumulated.window(0, 8, 2);
        accumulated.window(8, 2, 2);
        single.window(0, 8, 8);
        single.window(8, 2, 2);
    }
    CHECK(accumulated.control().applied == 4);
    const std::vector<float> a = accumulated.weights(), b = single.weights();
    double moved = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i] == Approx(b[i]).epsilon(1e-5).margin(1e-7));
        moved = std::max(moved, static_cast<double>(std::abs(b[i] - start[i])));
    }
    CHECK(moved > 1e-2);
}

TEST_CASE("H04: a window's weight matters", "[accumulation]") {
    // The same micro-steps as one window or as two are different updates: the test above can fail.
    Perceptron one, two;
    one.window(0, 8, 2);
    two.window(0, 4, 2);
    two.window(4, 4, 2);
    CHECK(one.weights() != two.weights());
}
