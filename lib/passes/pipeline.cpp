#include "passes/pipeline.h"

#include <algorithm>

#include "core/clock.h"
#include "passes/append_update.h"
#include "passes/differentiate.h"
#include "passes/fuse.h"
#include "passes/multiply_in_fp8.h"
#include "passes/recompute.h"
#include "passes/simplify.h"

namespace mpt {

namespace {

// Runs one pass: skip by name, time, verify, dump when changed.
class PassRunner {
  public:
    PassRunner(Graph& graph, const PipelineOptions& options, PipelineReport& report)
        : graph_(graph),
          options_(options),
          report_(report),
          last_(options.dump ? print(graph) : std::string()) {}

    void operator()(const std::string& name, GraphStage stage, const std::function<void()>& pass) {
        if (std::ranges::find(options_.skip, name) != options_.skip.end()) return;
        const double start = now_seconds();
        pass();
        report_.timings.push_back({name, 1e3 * (now_seconds() - start)});
        verify(graph_, stage);
        if (!options_.dump) return;
        std::string now = print(graph_);
        if (now != last_) options_.dump(name, graph_);
        last_ = std::move(now);
    }

  private:
    Graph& graph_;
    const PipelineOptions& options_;
    PipelineReport& report_;
    std::string last_;
};

}  // namespace

std::vector<std::string> skippable_passes() {
    return {"simplify", "fuse", "cast_into_update"};
}

PipelineReport run_pipeline(GraphBuilder& builder, ValueId loss, ValueId seed,
                            const PipelineOptions& options) {
    Graph& graph = builder.graph();
    PipelineReport report;
    PassRunner run(graph, options, report);
    const bool train = options.kind == GraphKind::kTrain;
    const DType narrow = options.precision.narrow;

    std::vector<ParameterGradient> gradients;
    if (train) {
        run("differentiate", GraphStage::kBuilt, [&] { gradients = differentiate(builder, loss, seed); });
        run("append_update", GraphStage::kBuilt, [&] { append_accumulation(builder, gradients); });
        if (options.recompute_blocks) run("recompute", GraphStage::kBuilt, [&] { recompute_blocks(graph); });
    }
    report.unmatched_overrides = unmatched_overrides(graph, options.precision);
    run("assign_precision", GraphStage::kPrecision, [&] { assign_precision(graph, options.precision); });
    run("legalize_precision", GraphStage::kPrecision,
        [&] { report.widened = legalize_precision(graph, *options.kernels, options.num_threads); });
    run("simplify", GraphStage::kPrecision, [&] { simplify(graph); });
    if (narrow != DType::f32)
        run("cast_into_update", GraphStage::kPrecision,
            [&] { cast_into_update(graph, narrow, options.pure_narrow); });
    // An evaluation multiplies in bf16: it has no gradients, and must leave the scales of training alone.
    if (train && options.precision.fp8)
        run("multiply_in_fp8", GraphStage::kPrecision,
            [&] { report.not_in_fp8 = multiply_in_fp8(builder, options.precision); });
    run("fuse", GraphStage::kFused, [&] { report.fusion = fuse(graph, *options.kernels); });
    return report;
}

}  // namespace mpt
