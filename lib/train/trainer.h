// A run: from a config to trained weights, with its directory of logs and checkpoints.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "forecast/cpu.h"
#include "metrics/rows.h"
#include "train/resume.h"
#include "train/run_device.h"
#include "train/stop_flag.h"

namespace mpt {

struct TrainRequest {
    RunConfig config;
    std::string resolved;                    // the config as YAML, for the run's directory
    std::vector<std::string> warnings = {};  // of reading it
    ResumeRequest resume = {};
    Existing existing = Existing::kKeep;
    const StopFlag* stop = nullptr;
    std::FILE* console = nullptr;            // where progress goes
    std::optional<CpuMachine> machine = {};  // measured; what a profile forecasts with
    std::function<RunsOn()> runs_on = {};    // instead of what config.device asks for: a test's host twin
};

struct TrainResult {
    SummaryRow summary;
    int signal = 0;       // the run was stopped by it
    std::string message;  // one line on how it was stopped
};

// Throws Error; the summary row in metrics.jsonl and log.txt then say so, too.
TrainResult train(const TrainRequest& request);

}  // namespace mpt
