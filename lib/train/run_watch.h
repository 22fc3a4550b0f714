// What looks at a run from beside it: the profiler, histograms of values, and who went non-finite first.
// While nothing is asked for and nothing overflows it does nothing.
#pragma once

#include <memory>
#include <string>

#include "train/run_log.h"
#include "train/step_profiler.h"
#include "train/training_program.h"

namespace mpt {

class RunWatch {
  public:
    RunWatch(const RunConfig& config, const RunDirectory& directory, std::int64_t total_updates,
             TrainingProgram& program, RunLog& log, std::optional<CpuMachine> machine);

    // Whether it looks at every update: none may be started before the last one is done.
    bool is_looking() const { return profiler_ != nullptr || config_.debug.histograms_every != 0; }
    void begin_update(std::int64_t attempt);  // counted from 1
    // `finite`: nothing is known against it (TrainingProgram::known_nonfinite).
    void after_micro_step(std::int64_t index, bool finite, bool last);
    void after_update();
    void end();  // of the run: writes the profile of one that ended before all of its updates were timed
    // For an update that was skipped or lost its loss: the first value that is not finite, in words. Once a
    // run is known to overflow now and then, only the first few are looked for.
    std::string first_nonfinite(const StepControl& control);

  private:
    void write_profile();

    const RunConfig& config_;
    const RunDirectory& directory_;
    std::int64_t total_updates_;
    TrainingProgram& program_;
    RunLog& log_;
    std::unique_ptr<StepProfiler> profiler_;
    std::int64_t first_profiled_ = 0;  // 0: not known before the first update
    std::int64_t attempt_ = 0;
    std::int64_t num_micro_ = 1;
    int looked_for_ = 0;
    std::string early_;  // found in a micro-step before the last one of this update
};

}  // namespace mpt
