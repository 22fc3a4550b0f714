#include "train/program_graphs.h"

#include "layers/classification_loss.h"
#include "ops/image_normalize/image_normalize.h"
#include "ops/loss_seed/loss_seed.h"

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

ValueId normalized_images(GraphBuilder& builder, const GraphContext& context, std::int64_t batch) {
    const DataDescription& data = context.data;
    const ValueId images =
        builder.input("images", {{batch, data.height, data.width, data.channels}, DType::u8});
    ImageNormalizeAttributes attributes;
    for (std::size_t c = 0; c < static_cast<std::size_t>(data.channels); ++c) {
        const double mean = data.mean.empty() ? 0.0 : static_cast<double>(data.mean[c]);
        const double std = data.std.empty() ? 1.0 : static_cast<double>(data.std[c]);
        attributes.scale.push_back(static_cast<float>(1.0 / (255.0 * std)));
        attributes.shift.push_back(static_cast<float>(-mean / std));
    }
    return image_normalize(builder, images, attributes);
}

ValueId loss_of(GraphBuilder& builder, const GraphContext& context, std::int64_t batch, NormMode mode) {
    const ValueId x = normalized_images(builder, context, batch);
    const ValueId labels = builder.input("labels", {{batch}, DType::i32});
    const ValueId logits =
        resnet(builder, x, resnet_config(context.config.model, context.data.num_classes, mode));
    const double smoothing = mode == NormMode::kTrain ? context.config.train.label_smoothing : 0;
    return classification_loss(builder, logits, labels, smoothing).loss_sum;
}

}  // namespace

CompiledGraph micro_step_graph(const GraphContext& context, std::int64_t batch) {
    CompiledGraph result;
    result.graph.name = "micro_step";
    GraphBuilder builder(result.graph, &context.variables);
    const ValueId loss = loss_of(builder, context, batch, NormMode::kTrain);
    const ValueId weight = builder.input("weight", {{}, DType::f32});
    const ValueId seed = loss_seed(builder, weight, control_value(builder));
    result.report =
        run_pipeline(builder, loss, seed, pipeline_options(context, GraphKind::kTrain, result.graph.name));
    return result;
}

CompiledGraph evaluation_graph(const GraphContext& context, std::int64_t batch) {
    CompiledGraph result;
    result.graph.name = "evaluate";
    GraphBuilder builder(result.graph, &context.variables);
    loss_of(builder, context, batch, NormMode::kEvaluate);
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
