// The whole compilation of a graph, read from top to bottom in pipeline.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/kernel.h"
#include "graph/verifier.h"
#include "passes/fuse.h"
#include "passes/precision.h"

namespace mpt {

enum class GraphKind : std::uint8_t { kTrain, kEvaluate, kUpdate };

struct PipelineOptions {
    GraphKind kind = GraphKind::kTrain;
    PrecisionPolicy precision;
    bool pure_narrow = false;  // fp16_pure: no f32 masters
    bool recompute_blocks = false;
    int num_threads = 1;
    const KernelTable* kernels = nullptr;
    std::vector<std::string> skip;  // names of passes left out, for debugging
    // Called after each pass that changed the graph, with the pass's name and what the graph looks like.
    std::function<void(const std::string& pass, const Graph& graph)> dump;
};

struct PassTiming {
    std::string pass;
    double ms = 0;
};

struct PipelineReport {
    std::vector<PassTiming> timings;
    std::vector<std::string> widened;              // by legalize_precision: one line a node
    std::vector<std::string> not_in_fp8;           // by multiply_in_fp8: one line a node
    std::vector<std::string> unmatched_overrides;  // patterns of the policy that name no node
    FusionReport fusion;                           // empty where fuse is skipped
};

// For kTrain, `loss` and `seed` are the values to differentiate.
PipelineReport run_pipeline(GraphBuilder& builder, ValueId loss, ValueId seed,
                            const PipelineOptions& options);

// Names of the passes that `skip` may hold.
std::vector<std::string> skippable_passes();

}  // namespace mpt
