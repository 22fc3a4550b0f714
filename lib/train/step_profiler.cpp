#include "train/step_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "exec/executor.h"
#include "forecast/cpu.h"
#include "graph/op.h"

namespace mpt {

void StepProfiler::learn(const Executor& executor) {
    const Plan& plan = executor.plan();
    const GraphForecast expected = forecast(plan, work_of(plan.graph), this_machine(num_threads_));
    std::vector<std::string>& names = known_[&executor];
    for (std::size_t n = 0; n < plan.steps.size(); ++n) {
        const Node& node = plan.graph.node(plan.steps[n].node);
        names.push_back(node.name);
        NodeTimes& times = nodes_[node.name];
        const NodeForecast& f = expected.nodes[n];
        times.op = node.op->name;
        times.phase = name_of(node.phase);
        times.kernel = plan.steps[n].prepared.description.empty() ? plan.steps[n].kernel
                                                                  : plan.steps[n].prepared.description;
        times.forecast_ms = f.ms;
        times.gflop = f.flops * 1e-9;
        times.megabytes = f.bytes * 1e-6;
    }
}

void StepProfiler::see(const Executor& executor, const std::vector<double>& ms) {
    double total_us = 0;
    for (const double took : ms) total_us += 1e3 * took;
    const std::chrono::duration<double, std::micro> now = Clock::now() - begun_;
    if (!known_.contains(&executor)) learn(executor);
    const std::vector<std::string>& names = known_[&executor];
    double start_us = now.count() - total_us;
    for (std::size_t s = 0; s < ms.size(); ++s) {
        const std::string& name = names[static_cast<std::size_t>(executor.plan().steps[s].node)];
        NodeTimes& times = nodes_[name];
        times.total_ms += ms[s];
        ++times.runs;
        events_.push_back({name, start_us, 1e3 * ms[s]});
        start_us += 1e3 * ms[s];
    }
}

std::string StepProfiler::table() const {
    std::vector<std::pair<std::string, NodeTimes>> rows(nodes_.begin(), nodes_.end());
    const auto mean = [](const NodeTimes& t) {
        return t.total_ms / static_cast<double>(std::max<std::int64_t>(1, t.runs));
    };
    std::ranges::stable_sort(rows,
                             [&](const auto& a, const auto& b) { return mean(a.second) > mean(b.second); });
    double total = 0, expected = 0;
    for (const auto& [name, t] : rows) {
        total += mean(t);
        expected += t.forecast_ms;
    }
    std::string text = fmt::format("{:>10} {:>7} {:>10} {:>9} {:>8}  {}\n", "ms", "%", "forecast", "GFLOP/s",
                                   "GB/s", "node (op, kernel, phase)");
    for (const auto& [name, t] : rows) {
        const double ms = std::max(mean(t), 1e-6);
        text += fmt::format("{:>10.3f} {:>7.2f} {:>10.3f} {:>9.1f} {:>8.1f}  {} ({}, {}, {})\n", mean(t),
                            100 * mean(t) / total, t.forecast_ms, t.gflop / ms * 1e3, t.megabytes / ms, name,
                            t.op, t.kernel, t.phase);
    }
    return text +
           fmt::format(
               "{:>10.3f} {:>7} {:>10.3f}  all nodes: a micro-step and an update; measured is {:+.1f} % "
               "off the forecast\n",
               total, "", expected, 100 * (total / expected - 1));
}

std::string StepProfiler::trace() const {
    nlohmann::json events = nlohmann::json::array();
    for (const Event& event : events_) {
        const NodeTimes& t = nodes_.at(event.node);
        events.push_back({{"name", event.node},
                          {"cat", t.phase},
                          {"ph", "X"},
                          {"ts", event.start_us},
                          {"dur", event.duration_us},
                          {"pid", 1},
                          {"tid", 1},
                          {"args", {{"op", t.op}, {"kernel", t.kernel}, {"forecast_ms", t.forecast_ms}}}});
    }
    return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace mpt
