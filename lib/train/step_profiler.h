// Times every node of some micro-steps and updates: a table beside the forecast, and a trace for
// chrome://tracing or Perfetto.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "forecast/cpu.h"
#include "train/training_program.h"

namespace mpt {

class StepProfiler {
  public:
    // `machine` unset: no forecasts.
    explicit StepProfiler(std::optional<CpuMachine> machine) : machine_(std::move(machine)) {}

    // For TrainingProgram::time_steps.
    void see(const Executor& executor, const std::vector<double>& ms);

    bool has_seen_any() const { return !events_.empty(); }
    // A line a node, slowest first: mean ms, forecast ms, op, kernel, rates; and sums.
    std::string table() const;
    // What was seen, but only so much as viewers open, in Chrome's trace format; on a track below it the
    // forecast.
    std::string trace() const;

  private:
    struct NodeTimes {
        double total_ms = 0;
        std::int64_t runs = 0;
        double forecast_ms = 0, gflop = 0, megabytes = 0;
        std::string op, kernel, phase;
    };
    struct Event {
        std::string node;
        double start_us = 0, duration_us = 0, forecast_us = 0;  // forecast_us: where its forecast starts
    };
    void learn(const Executor& executor);

    std::optional<CpuMachine> machine_;
    double begun_ = now_seconds();
    std::map<const Executor*, std::vector<std::string>> known_;  // names of its nodes
    std::map<std::string, NodeTimes> nodes_;
    std::vector<Event> events_;
};

}  // namespace mpt
