// A graph with a kernel per node, an order and a memory offset per value, for one backend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel.h"
#include "plan/memory_report.h"

namespace mpt {

struct PlanOptions {
    const KernelTable* kernels = nullptr;
    int num_threads = 1;
    // Kernels compile code and hold memory when prepared; a plan that is only measured needs none of that
    // beyond the size of its workspace.
    bool keep_kernels = true;
    // Inputs, and what is made of them alone, live outside the step arena in buffers that are used in turns:
    // the next batch is brought in while a step runs.
    bool stage_inputs = false;
};

struct PlannedStep {
    NodeId node = kNone;
    std::string kernel;                 // its name
    std::vector<std::string> refusals;  // of kernels tried before, each "name: sentence"
    PreparedKernel prepared;
    std::int64_t workspace_offset = 0;  // bytes into the step arena
    bool early = false;                 // needs staged values alone, and makes them
};

// Where a value lives: in the step arena, in a region of the store, or in a staging buffer.
struct Placement {
    bool stored = false, staged = false;
    StoreRef store = {};
    std::int64_t offset = 0;  // bytes into the step arena or the buffer
};

struct Plan {
    Graph graph;
    std::vector<PlannedStep> steps;       // one a node, in order
    std::vector<Placement> placements;    // one a value
    std::int64_t arena_bytes = 0;         // of the step arena: intermediates, inputs and workspace together
    std::int64_t activations_bytes = 0;   // most bytes of intermediates alive at one step
    std::int64_t kept_bytes = 0;          // alive between the forward and the backward half: kept activations
    std::int64_t workspace_bytes = 0;     // largest workspace of a kernel
    std::int64_t staging_bytes = 0;       // of one staging buffer
    std::int64_t staged_input_bytes = 0;  // its first part: the inputs
    std::vector<MemoryReport::Live> at_peak;
};

// Throws InternalError when a node has no kernel at all.
Plan compile(Graph graph, const PlanOptions& options);

// One line a node: its kernel, output types, address of the first output and of the workspace in the step
// arena (bytes), and why faster kernels were refused.
std::string print(const Plan& plan);

}  // namespace mpt
