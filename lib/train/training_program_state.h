// The inside of TrainingProgram, shared by its source files.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/executor.h"
#include "exec/run_memory.h"
#include "train/program_graphs.h"
#include "train/run_device.h"

namespace mpt {

struct CompiledPlan {
    Plan plan;
    std::vector<std::string> widened;  // and what stays out of fp8
    std::unique_ptr<Executor> executor;
};

// What was started and not asked for yet.
struct StartedRun {
    std::int64_t number = 0;
    const Executor* executor = nullptr;
    std::int64_t run = 0;     // of the executor
    std::int64_t weight = 0;  // of a micro-batch
    bool known = false;       // the results are below; the executor may have others by now
    BatchResult sums;
    StepControl control;
};

struct TrainingProgram::Impl {
    Impl(const RunConfig& c, const DataDescription& d, int threads, RunsOn runs_on)
        : config(c),
          data(d),
          num_threads(threads),
          owned_device(std::move(runs_on.owned_device)),
          device(runs_on.device),
          kernels(std::move(runs_on.kernels)) {
        config.precision.mode = mode_on(device, c.precision);
    }

    RunConfig config;
    DataDescription data;
    int num_threads;
    std::unique_ptr<gpu::Device> owned_device;  // before what lives in its memory
    gpu::Device* device;                        // null: the CPU
    KernelTable kernels;
    VariableTable variables;
    DecayGroups decay;
    UpdateConfig update_settings;
    std::map<BatchShape, CompiledPlan> micro_steps, evaluations;
    CompiledPlan update;
    std::string dump;
    MemoryReport report;
    StoreLayout layout;
    RunMemory memory;
    MicroBatch last_micro_batch;  // its bytes are the caller's
    MicroStepPlace last_place;
    StepObserver observer;
    StepTimer timer;
    std::unique_ptr<Staging> staging;  // of a device
    std::deque<StartedRun> started;
    std::int64_t num_started = 0;

    PlanOptions plan_options(bool keep_kernels = true) const {
        return {&kernels, num_threads, keep_kernels, device != nullptr};
    }
    GraphContext context(const RunConfig& c, VariableTable& v, std::string* text) const {
        return {c, data, v, kernels, num_threads, text};
    }
    void compile_micro_step(const BatchShape& shape);
    void compile_evaluation(const BatchShape& shape);
    void enable_regions();
    void refresh_report();
    std::unique_ptr<Executor> executor_of(const Plan& plan) const {
        return std::make_unique<Executor>(plan, memory.store(), device, staging.get());
    }
    void allocate();
    void release();
    std::int64_t largest_micro_batch(std::int64_t bytes, Recompute recompute) const;
    // Throw Error(kResource) with the need, what is there, and the largest micro-batch that fits `bytes`;
    // that of what is available, where something could not be had though the plan alone would fit.
    [[noreturn]] void fail_for_memory(const std::string& there, std::int64_t bytes,
                                      const std::string& otherwise) const;
    [[noreturn]] void fail_beside_plan(std::int64_t available, const std::string& failure) const;
    void require_store() const { MPT_CHECK(memory.allocated(), "allocate() comes first"); }
    // Starts a run of the executor, whose inputs are there.
    std::int64_t start(const Executor& executor, std::int64_t weight);
    StartedRun take(std::int64_t number);
    static void read_results(StartedRun& run);
    void fill_inputs(const Executor& executor, const MicroBatch& batch, const MicroStepPlace* place) const;
    void execute(const Executor& executor);
    void fill(const Variable& variable, std::uint64_t seed, std::uint64_t index);
};

}  // namespace mpt
