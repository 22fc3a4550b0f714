// The micro-step of a run at any micro-batch, without kernels and without allocation: compiled by the whole
// pipeline at two sizes, every other size lies on the line through them: each dimension, and each attribute
// that counts elements.
#pragma once

#include <cstdint>

#include "config/run_config.h"
#include "forecast/roofline.h"
#include "graph/graph.h"
#include "graph/variables.h"
#include "passes/fuse.h"
#include "plan/plan.h"
#include "train/training_program.h"

namespace mpt {

struct StepVariant {
    PrecisionMode mode = PrecisionMode::kFp32;
    Recompute recompute = Recompute::kOff;
    Style style = Style::kFused;
    bool operator==(const StepVariant&) const = default;
};

class StepFamily {
  public:
    StepFamily(RunConfig config, const DataDescription& data, int num_threads, StepVariant variant);

    const StepVariant& variant() const { return variant_; }
    std::int64_t micro_batch() const { return shape_.rows; }  // the data's
    const Graph& graph() const { return graph_; }             // at that micro-batch
    const Graph& update() const { return update_; }
    const FusionReport& fusion() const { return fusion_; }  // of graph()
    const std::vector<std::string>& not_in_fp8() const { return not_in_fp8_; }
    const VariableTable& variables() const { return variables_; }
    Graph at(std::int64_t rows) const;

    // Regions of the store and step arena at a micro-batch. With kernels their workspaces count, too (exact
    // on this machine); without, only values do.
    enum class Workspaces : std::uint8_t { kIgnored, kOfKernels };
    MemoryReport memory(std::int64_t rows, Workspaces workspaces) const;
    // 0 when not even one sample fits.
    std::int64_t largest_micro_batch(std::int64_t bytes, Workspaces workspaces) const;

  private:
    Plan planned(const Graph& graph, Workspaces workspaces) const;

    StepVariant variant_;
    int num_threads_;
    BatchShape shape_;
    std::int64_t second_rows_;
    VariableTable variables_;
    Graph graph_, second_, update_;
    FusionReport fusion_;
    std::vector<std::string> not_in_fp8_;
    std::int64_t update_arena_bytes_ = 0;
};

}  // namespace mpt
