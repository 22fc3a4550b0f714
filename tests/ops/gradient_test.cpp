// Gradient rules against central finite differences in f64. The loss is the sum of the op's first output
// times fixed random weights; the gradient nodes that the op builds run on reference kernels.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "support/graph_run.h"
#include "support/op_sample.h"

using namespace mpt;
using namespace mpt::test;

namespace {

constexpr double kStep = 1e-5;
// Of the step's square and of rounding in f64, for values of order one.
constexpr double kAllowed = 1e-7;
constexpr std::size_t kMostElements = 40;  // tried per input, spread evenly

struct Gradients {
    SampleGraph one;
    ValueId weights = kNone;
    std::vector<std::pair<int, ValueId>> of_input;

    explicit Gradients(const Sample& sample) : one(sample, DType::f64) {
        GraphBuilder builder(one.graph);
        weights = builder.input("weights", one.graph.type(one.node.outputs[0]));
        std::vector<ValueId> output_gradients(one.node.outputs.size(), kNone);
        output_gradients[0] = weights;
        GradientContext context(builder, one.node, output_gradients);
        sample.op->differentiate(context);
        of_input = context.results;
    }
};

std::vector<double> weights_for(std::size_t count) {
    RandomStream random(7, RandomPurpose::kSample, 99);
    std::vector<double> weights(count);
    for (double& w : weights) w = static_cast<double>(random.uniform()) * 2 - 1;
    return weights;
}

std::vector<double> output_of(GraphRun& run, const Gradients& gradients) {
    run.run_nodes(0, 1);
    return run.get(gradients.one.node.outputs[0]);
}

void check_input(GraphRun& run, const Gradients& gradients, const std::vector<double>& weights, int index,
                 const std::vector<double>& values, const std::vector<double>& gradient) {
    const ValueId id = gradients.one.inputs[static_cast<std::size_t>(index)];
    const std::size_t stride = std::max<std::size_t>(1, values.size() / kMostElements);
    double scale = 1;
    for (const double g : gradient) scale = std::max(scale, std::abs(g));
    for (std::size_t e = 0; e < values.size(); e += stride) {
        std::vector<double> moved = values;
        moved[e] = values[e] + kStep;
        run.set(id, moved);
        const std::vector<double> above = output_of(run, gradients);
        moved[e] = values[e] - kStep;
        run.set(id, moved);
        const std::vector<double> below = output_of(run, gradients);
        double slope = 0;  // summed over differences: equal outputs cancel exactly
        for (std::size_t o = 0; o < above.size(); ++o) slope += (above[o] - below[o]) * weights[o];
        INFO("input " << index << " element " << e);
        CHECK(std::abs(slope / (2 * kStep) - gradient[e]) <= kAllowed * scale);
    }
    run.set(id, values);
}

void check_gradients(const Sample& sample) {
    Gradients gradients(sample);
    const Values values = draw_inputs(sample, DType::f64);
    const std::vector<double> weights = weights_for(
        static_cast<std::size_t>(gradients.one.graph.type(gradients.weights).shape.num_elements()));
    GraphRun run(gradients.one.graph);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (gradients.one.inputs[i] != kNone) run.set(gradients.one.inputs[i], values[i]);
    run.set(gradients.weights, weights);
    run.run();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const SampleInput& input = sample.inputs[i];
        const TensorType type = type_of(input, DType::f64);
        if (!input.differentiable || input.kind == SampleInput::Kind::kAbsent || !is_float(type.dtype))
            continue;
        std::vector<double> sum(values[i].size());
        bool found = false;
        for (const auto& [index, id] : gradients.of_input) {
            if (index != static_cast<int>(i) || id == kNone) continue;
            found = true;
            const std::vector<double> part = run.get(id);
            for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += part[e];
        }
        INFO("input " << i);
        CHECK(found);
        if (found) check_input(run, gradients, weights, static_cast<int>(i), values[i], sum);
    }
}

}  // namespace

TEST_CASE("gradient rules agree with finite differences in f64") {
    const char* part = std::getenv("MPT_OP_CASE");
    for (const Sample& sample : sample_table().samples) {
        const std::string name =
            std::string(sample.op->name) + " gradient " + sample.name + " " + sample.attributes.text();
        if (sample.op->differentiate == nullptr || !sample.check_gradient) continue;
        if (part != nullptr && name.find(part) == std::string::npos) continue;
        INFO(name);
        check_gradients(sample);
    }
}
