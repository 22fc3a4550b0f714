// Measured speed of a config: updates over one batch that stays (no data), and over the real feed, in turns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "forecast/published.h"

namespace mpt {

struct BenchRequest {
    RunConfig config;
    std::int64_t steps = 10, warmup = 2;  // updates of each kind
};

struct Percentiles {
    double mean = 0, median = 0, p5 = 0, p95 = 0;
};
Percentiles percentiles_of(std::vector<double> values);

struct BenchSeries {
    std::string name;        // "one batch", "data"
    Percentiles per_second;  // images or tokens
    // Mean ms of an update.
    double wait_ms = 0, forward_ms = 0, backward_ms = 0, update_ms = 0, other_ms = 0;
    double update_total_ms = 0;
};

enum class Verdict { kInput, kLaunch, kMemory, kCompute };
std::string_view name_of(Verdict verdict);

struct BenchResult {
    std::string device, unit;
    std::int64_t batch = 0, micro_batch = 0;
    std::vector<BenchSeries> series;
    // Of the first series: useful product FLOPs over time; over the device's peak; time at the peaks of
    // arithmetic and memory over time.
    double tflops = 0, mfu = 0, roofline_share = 0;
    double forecast_per_second = 0;          // 0: none can be made
    std::optional<PublishedRate> published;  // of this network, GPU and precision, where known
    std::string sensors;                     // clocks, temperature, power, throttling, or why there are none
    double planned_mib = 0, seen_mib = 0;    // arena; most the process had resident
    Verdict verdict = Verdict::kCompute;
    std::string reason;  // of the verdict
};

// Trains from fresh weights and writes no run directory. Error as for a run.
BenchResult bench(const BenchRequest& request);
std::string print(const BenchResult& result);

}  // namespace mpt
