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

// Inputs: images u8 [N,H,W,C], labels i32 [N], weight f32 []. Outputs: loss_sum, hits1, hits5. Updates the
// gradient region and the running statistics.
CompiledGraph micro_step_graph(const GraphContext& context, std::int64_t batch);
// Inputs: images, labels. Outputs: loss_sum, hits1, hits5. No label smoothing: the loss is comparable between
// recipes.
CompiledGraph evaluation_graph(const GraphContext& context, std::int64_t batch);
CompiledGraph update_graph(const GraphContext& context, const UpdateConfig& update);

}  // namespace mpt
