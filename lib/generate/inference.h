// Models at work: weights in f32 and compiled graphs without gradients over them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/arena.h"
#include "exec/executor.h"
#include "graph/builder.h"
#include "graph/kernel.h"
#include "graph/variables.h"

namespace mpt {

using GraphBuild = std::function<void(GraphBuilder&)>;

struct InferenceOptions {
    int num_threads = 1;
    const KernelTable* kernels = &cpu_kernels();
};

class InferenceWeights {
  public:
    // `graphs` together use every weight of the model. All weights are zero at first.
    InferenceWeights(const std::vector<GraphBuild>& graphs, const InferenceOptions& options);

    const VariableTable& table() const { return table_; }
    std::byte* masters() const { return store_.region(Region::kMaster); }
    std::int64_t bytes() const { return arena_.bytes(); }
    // By name, from masters of any type; another model's tables are refused by MPT_CHECK.
    void copy_from(const VariableTable& table, const std::byte* masters);

  private:
    friend class InferencePlan;

    InferenceOptions options_;
    VariableTable table_;
    cpu::Arena arena_;
    Store store_;
};

// One graph with a step arena of its own: between runs its inputs and outputs keep what they hold.
class InferencePlan {
  public:
    // `weights` must outlive it.
    InferencePlan(InferenceWeights& weights, const std::string& name, const GraphBuild& build);
    InferencePlan(const InferencePlan&) = delete;
    InferencePlan& operator=(const InferencePlan&) = delete;

    void run() const { executor_->run(); }
    template <typename T>
    std::span<T> input(const std::string& name) const {
        return executor_->input<T>(name);
    }
    template <typename T>
    std::span<const T> output(const std::string& name) const {
        return executor_->output<T>(name);
    }
    const Executor& executor() const { return *executor_; }
    std::int64_t bytes() const { return arena_.bytes(); }

  private:
    Plan plan_;
    cpu::Arena arena_;
    std::unique_ptr<Executor> executor_;
};

}  // namespace mpt
