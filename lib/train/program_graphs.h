// The three graphs of a run, each compiled by the pipeline.
#pragma once

#include <string>
#include <vector>

#include "train/program_config.h"
#include "train/training_program.h"

namespace mpt {

struct GraphContext {
    const RunConfig& config;
    const DataDescription& data;
    VariableTable& variables;
    const KernelTable& kernels;
    int num_threads = 1;
    std::string* dump = nullptr;  // gets every graph after each pass that changed it
};

struct CompiledGraph {
    Graph graph;
    PipelineReport report;
};

// Inputs are those of the model (model_loss.h), weight f32 [] and, where there is dropout, step i32 [].
// Output: loss_sum, for images hits1 and hits5, and where gradients accumulate the finite flags. Updates the
// gradient region and the running statistics.
CompiledGraph micro_step_graph(const GraphContext& context, const BatchShape& shape);
// The same without weight and step. No label smoothing: the loss is comparable between recipes.
CompiledGraph evaluation_graph(const GraphContext& context, const BatchShape& shape);
// Output `index` of a micro-step that accumulates: i32, 1 while its small gradients are finite.
std::string finite_flag(std::size_t index);
CompiledGraph update_graph(const GraphContext& context, const UpdateConfig& update);

}  // namespace mpt
