#include "train/program_graphs.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "graph/verifier.h"
#include "ops/all_finite/all_finite.h"
#include "ops/loss_seed/loss_seed.h"
#include "train/model_loss.h"

namespace mpt {

namespace {

PipelineOptions pipeline_options(const GraphContext& context, GraphKind kind, const std::string& graph) {
    PipelineOptions options;
    options.kind = kind;
    options.pure_narrow = context.config.precision.mode == PrecisionMode::kFp16Pure;
    options.num_threads = context.num_threads;
    options.kernels = &context.kernels;
    options.skip = context.config.debug.skip_passes;
    if (kind != GraphKind::kUpdate) options.precision = precision_policy(context.config.precision);
    options.recompute_blocks = context.config.memory.recompute == Recompute::kBlocks;
    if (context.dump != nullptr)
        options.dump = [dump = context.dump, graph](const std::string& pass, const Graph& g) {
            *dump += "== " + graph + " after " + pass + "\n" + print(g);
        };
    return options;
}

// The gradients of biases and norms, as the micro-step leaves them. A value that is not finite in the
// backward half reaches those of its layer, as they are sums over its rows; gradients of weights, f32 sums of
// products of values that are finite, stay so.
std::vector<ValueId> small_gradients(const Graph& graph) {
    std::map<std::int64_t, ValueId> last;  // by place
    for (const Value& value : graph.values)
        if (value.kind == ValueKind::kStored && value.store->region == Region::kGradient &&
            value.type.dtype == DType::f32 && value.type.shape.rank() == 1)
            last[value.store->offset] = static_cast<ValueId>(&value - graph.values.data());
    for (auto& [place, id] : last)
        for (const Node& node : graph.nodes)
            for (const Alias alias : node.op->must_alias)
                if (node.inputs[static_cast<std::size_t>(alias.input)] == id)
                    id = node.outputs[static_cast<std::size_t>(alias.output)];
    std::vector<ValueId> gradients;
    for (const auto& [place, id] : last) gradients.push_back(id);
    return gradients;
}

// What a run that accumulates asks after each micro-step: outputs "finite0", "finite1", ...
void leave_finite_flags(Graph& graph) {
    const std::vector<ValueId> gradients = small_gradients(graph);
    GraphBuilder builder(graph);
    builder.set_phase(Phase::kBackward);
    for (std::size_t first = 0; first < gradients.size(); first += kMostFiniteInputs) {
        const std::size_t end = std::min(first + kMostFiniteInputs, gradients.size());
        const std::string name = finite_flag(first / kMostFiniteInputs);
        builder.output(name, all_finite(builder,
                                        {gradients.begin() + static_cast<std::ptrdiff_t>(first),
                                         gradients.begin() + static_cast<std::ptrdiff_t>(end)},
                                        name));
    }
    verify(graph, GraphStage::kFused);
}

}  // namespace

std::string finite_flag(std::size_t index) {
    return "finite" + std::to_string(index);
}

CompiledGraph micro_step_graph(const GraphContext& context, const BatchShape& shape) {
    CompiledGraph result;
    result.graph.name = "micro_step";
    GraphBuilder builder(result.graph, &context.variables);
    const ValueId loss = model_loss(builder, context, shape, ModelUse::kTrain);
    const ValueId weight = builder.input("weight", {{}, DType::f32});
    const ValueId seed = loss_seed(builder, weight, control_value(builder));
    result.report =
        run_pipeline(builder, loss, seed, pipeline_options(context, GraphKind::kTrain, result.graph.name));
    if (!result.report.unmatched_overrides.empty())
        throw Error(ExitCode::kUsage, "precision.overrides: match '" +
                                          result.report.unmatched_overrides.front() +
                                          "' names no op of the model; mpt-train plan --every-op lists them");
    if (context.config.train.accumulate > 1) leave_finite_flags(result.graph);
    return result;
}

CompiledGraph evaluation_graph(const GraphContext& context, const BatchShape& shape) {
    CompiledGraph result;
    result.graph.name = "evaluate";
    GraphBuilder builder(result.graph, &context.variables);
    model_loss(builder, context, shape, ModelUse::kEvaluate);
    result.report = run_pipeline(builder, kNone, kNone,
                                 pipeline_options(context, GraphKind::kEvaluate, result.graph.name));
    return result;
}

CompiledGraph update_graph(const GraphContext& context, const UpdateConfig& update) {
    CompiledGraph result;
    result.graph.name = "update";
    GraphBuilder builder(result.graph, &context.variables);
    build_update(builder, update);
    result.report =
        run_pipeline(builder, kNone, kNone, pipeline_options(context, GraphKind::kUpdate, result.graph.name));
    return result;
}

}  // namespace mpt
