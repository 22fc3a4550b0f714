// Times every node of some micro-steps and updates: a table beside the forecast, and a trace for
// chrome://tracing or Perfetto.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "train/training_program.h"

namespace mpt {

class StepProfiler {
  public:
    explicit StepProfiler(int num_threads) : num_threads_(num_threads) {}

    // For TrainingProgram::time_steps.
    void see(const Executor& executor, const std::vector<double>& ms);

    // A line a node, slowest first: mean ms, forecast ms, op, kernel, rates; and sums.
    std::string table() const;
    // The events of everything that was seen, in Chrome's trace format.
    std::string trace() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct NodeTimes {
        double total_ms = 0;
        std::int64_t runs = 0;
        double forecast_ms = 0, gflop = 0, megabytes = 0;
        std::string op, kernel, phase;
    };
    struct Event {
        std::string node;
        double start_us = 0, duration_us = 0;
    };
    void learn(const Executor& executor);

    int num_threads_;
    Clock::time_point begun_ = Clock::now();
    std::map<const Executor*, std::vector<std::string>> known_;  // names of its nodes
    std::map<std::string, NodeTimes> nodes_;
    std::vector<Event> events_;
};

}  // namespace mpt
