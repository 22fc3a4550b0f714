// The inside of TrainingProgram, shared by its source files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/arena.h"
#include "exec/executor.h"
#include "train/program_graphs.h"

namespace mpt {

struct CompiledPlan {
    Plan plan;
    std::vector<std::string> widened;
    std::unique_ptr<Executor> executor;
};

struct TrainingProgram::Impl {
    Impl(const RunConfig& c, const DataDescription& d, int threads)
        : config(c),
          data(d),
          num_threads(threads),
          kernels(c.debug.reference_kernels ? reference_kernels() : cpu_kernels()) {}

    RunConfig config;
    DataDescription data;
    int num_threads;
    const KernelTable& kernels;
    VariableTable variables;
    DecayGroups decay;
    UpdateConfig update_settings;
    std::map<std::int64_t, CompiledPlan> micro_steps, evaluations;  // by batch size
    CompiledPlan update;
    std::string dump;
    MemoryReport report;
    StoreLayout layout;
    cpu::Arena arena;
    Store store;
    std::int64_t last_micro_batch = 0;

    GraphContext context(const RunConfig& c, VariableTable& v, std::string* text) const {
        return {c, data, v, kernels, num_threads, text};
    }
    void compile_micro_step(std::int64_t batch);
    void compile_evaluation(std::int64_t batch);
    void enable_regions();
    void refresh_report();
    void require_store() const { MPT_CHECK(arena.data() != nullptr, "allocate() comes first"); }
    BatchResult run(CompiledPlan& compiled, std::span<const std::uint8_t> images,
                    std::span<const std::int32_t> labels, const float* weight);
    void fill(const Variable& variable, std::uint64_t seed, std::uint64_t index);
};

}  // namespace mpt
