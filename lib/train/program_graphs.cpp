#include "train/program_graphs.h"

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

}  // namespace

CompiledGraph micro_step_graph(const GraphContext& context, const BatchShape& shape) {
    CompiledGraph result;
    result.graph.name = "micro_step";
    GraphBuilder builder(result.graph, &context.variables);
    const ValueId loss = model_loss(builder, context, shape, ModelUse::kTrain);
    const ValueId weight = builder.input("weight", {{}, DType::f32});
    const ValueId seed = loss_seed(builder, weight, control_value(builder));
    result.report =
        run_pipeline(builder, loss, seed, pipeline_options(context, GraphKind::kTrain, result.graph.name));
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
