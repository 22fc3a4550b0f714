// Everything of a run that is decided before the first batch: the three plans (micro-step, update, evaluate)
// over one store, for each batch size that occurs. The trainer only calls run_*().
//
//   TrainingProgram program(config, data, num_threads);   // compiles; allocates nothing large
//   report(program.memory());                             // may end with exit 6 here
//   program.allocate();                                   // the one arena
//   program.initialize(seed);
//   program.run_micro_step(batch, ...); StepControl control = program.run_update();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "graph/variables.h"
#include "optim/step_control.h"
#include "plan/memory_report.h"
#include "train/micro_batch.h"
#include "train/run_device.h"

namespace mpt {

// What the program must know of the data.
struct DataDescription {
    std::int64_t height = 0, width = 0, channels = 0, num_classes = 0;
    std::vector<float> mean, std;  // a channel, of pixels in 0..1
    // Of text; source_vocabulary is 0 where one vocabulary serves both sides.
    std::int64_t vocabulary = 0, source_vocabulary = 0;
    BatchShape micro_batch;  // the usual one; the largest where there are several
    std::int64_t updates_per_epoch = 1;
    std::int64_t total_updates = 1;
    std::int64_t host_bytes = 0;  // resident bytes of the data set and its buffers
};

// The first value of a micro-step that is not finite, in execution order.
struct NonFinitePlace {
    std::string text;       // name, op, half of the step, count and range; empty: every value is finite
    bool stored = false;    // a weight or statistic, before anything was computed
    bool backward = false;  // made in the backward half
    bool f16 = false;       // of f16, whose range is small
};

class Executor;
struct PlannedStep;
// Called right after a node ran; its outputs are still where the executor's plan put them.
using StepObserver = std::function<void(const Executor& executor, const PlannedStep& step)>;
// Called after a whole plan ran, with the ms that each of its steps took.
using StepTimer = std::function<void(const Executor& executor, const std::vector<double>& ms)>;

// Sums over one micro-step or evaluation batch.
struct BatchResult {
    double loss_sum = 0;                // f32 on the device
    std::int64_t hits1 = 0, hits5 = 0;  // of images
    std::int64_t weight = 0;            // images, or targets that count
    // The loss and, of a micro-step of several, the gradients of biases and norms.
    bool finite = true;
};

class TrainingProgram {
  public:
    // On the device that the config names, or on another (a test's host twin).
    TrainingProgram(const RunConfig& config, const DataDescription& data, int num_threads);
    TrainingProgram(const RunConfig& config, const DataDescription& data, int num_threads, RunsOn runs_on);
    ~TrainingProgram();
    TrainingProgram(const TrainingProgram&) = delete;
    TrainingProgram& operator=(const TrainingProgram&) = delete;

    // Shapes other than the data's usual one that will occur (short last batches, buckets of lengths); to be
    // told before memory() and allocate().
    void expect_micro_batch(const BatchShape& shape);
    void expect_evaluation_batch(const BatchShape& shape);

    // The config's, or with precision.fallback a wider one.
    PrecisionMode precision_mode() const;
    // Where it runs; null: the CPU.
    const gpu::Device* device() const;
    // Bytes that the run may still take where it runs: of the GPU, or of this process.
    std::int64_t available_bytes() const;
    const MemoryReport& memory() const;
    // The most rows of a micro-batch whose plan fits `bytes` (0 when not even one does).
    std::int64_t largest_micro_batch(std::int64_t bytes, Recompute recompute) const;
    // Throws Error(kResource) naming the need, what there is, and the largest micro-batch with and without
    // recompute.
    void check_fits(std::int64_t available_bytes) const;
    void allocate();
    std::int64_t allocated_bytes() const;  // 0 before allocate()
    void initialize(
        std::uint64_t seed);  // weights by their initialisers, control block, everything else zero

    // On a device these only enqueue; a CPU has run them when they return. The numbers they give ask for the
    // results, once each, at any later time: the device writes them into pinned memory, and waits for nobody.
    std::int64_t start_micro_step(const MicroBatch& batch, const MicroStepPlace& place);
    std::int64_t start_update();
    BatchResult micro_step_result(std::int64_t number);
    StepControl update_result(std::int64_t number);
    // Whether a micro-step that was not asked for yet has a loss or gradients that are not finite, as far as
    // is known without waiting: of a device that may be nothing.
    bool known_nonfinite(std::int64_t number) const;
    // What micro-steps change but for the gradients, batch norm's running statistics and the scales of fp8:
    // kept before an update whose last micro-batch may not come, and put back when it does not.
    void keep_running_state();
    void put_back_running_state();
    // Whether what is started may still be running.
    bool runs_late() const;
    // Both at once.
    BatchResult run_micro_step(const MicroBatch& batch, const MicroStepPlace& place);
    StepControl run_update();
    BatchResult run_evaluation(const MicroBatch& batch);
    // From now on every node of every run is shown to `observer`; an empty one ends it. Nobody looking costs
    // nothing.
    void observe(StepObserver observer);
    // From now on every run is timed, node by node; an empty timer ends it.
    void time_steps(StepTimer timer);
    bool has_ema() const;
    // Exchanges the masters with their moving average (twice gives the old state back, to the bit).
    void swap_ema();

    // For checkpoints: what the regions hold. Call weights_changed() after writing to masters from outside:
    // it refreshes the narrow copies.
    const VariableTable& variables() const;
    std::byte* region(Region r);  // nullptr when the run has no such region
    void weights_changed();
    StepControl control() const;
    void set_control(const StepControl& control);

    std::string precision_summary() const;  // a line or more: mode, casts, what the CPU computes in
    std::string decay_summary() const;      // H11's line
    std::string graph_text() const;         // for --dump-graph: every graph after each pass that changed it
    std::size_t activation_bytes() const;   // planned bytes of kept activations of the micro-step
    std::string plan_text() const;          // a line a node: kernel, types, why faster kernels were refused
    // Runs the last micro-step again at a loss scale, showing every node to `observer` (after the one of
    // observe()); the run does not change. The bytes of its batch must still be there.
    void replay(float loss_scale, const StepObserver& observer);
    // Replays and names the first value that is not finite: a stored value or an input that a node reads, or
    // what a node made.
    NonFinitePlace first_nonfinite_place(float loss_scale);
    std::string first_nonfinite(float loss_scale) { return first_nonfinite_place(loss_scale).text; }

    struct Impl;  // training_program_state.h, for the program's own files

  private:
    std::unique_ptr<Impl> impl_;
};

// Bytes this process may still take: MemAvailable, cgroup limit and RLIMIT_AS, whichever is least.
std::int64_t available_memory_bytes();

}  // namespace mpt
