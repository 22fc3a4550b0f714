#include "train/step_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "exec/executor.h"
#include "graph/op.h"

namespace mpt {

namespace {

constexpr std::size_t kMostEvents = 100000;  // a trace that viewers still open

}  // namespace

void StepProfiler::learn(const Executor& executor) {
    const Plan& plan = executor.plan();
    GraphForecast expected;
    if (machine_) expected = forecast(plan, work_of(plan.graph), *machine_);
    const std::vector<NodeWork> work = work_of(plan.graph);
    std::vector<std::string>& names = known_[&executor];
    for (std::size_t n = 0; n < plan.steps.size(); ++n) {
        const Node& node = plan.graph.node(plan.steps[n].node);
        names.push_back(node.name);
        NodeTimes& times = nodes_[node.name];
        const NodeWork& node_work = work[static_cast<std::size_t>(plan.steps[n].node)];
        times.op = node.op->name;
        times.phase = name_of(node.phase);
        times.kernel = plan.steps[n].prepared.description.empty() ? plan.steps[n].kernel
                                                                  : plan.steps[n].prepared.description;
        if (machine_) times.forecast_ms = expected.nodes[n].ms;
        times.gflop = node_work.flops * 1e-9;
        times.megabytes = node_work.bytes * 1e-6;
    }
}

void StepProfiler::see(const Executor& executor, const std::vector<double>& ms) {
    const double now = now_seconds();
    if (!known_.contains(&executor)) learn(executor);
    const std::vector<std::string>& names = known_[&executor];
    double start_us = 1e6 * (now - begun_) - 1e3 * std::accumulate(ms.begin(), ms.end(), 0.0);
    double forecast_us = start_us;
    for (std::size_t s = 0; s < ms.size(); ++s) {
        const std::string& name = names[static_cast<std::size_t>(executor.plan().steps[s].node)];
        NodeTimes& times = nodes_[name];
        times.total_ms += ms[s];
        ++times.runs;
        if (events_.size() < kMostEvents) events_.push_back({name, start_us, 1e3 * ms[s], forecast_us});
        start_us += 1e3 * ms[s];
        forecast_us += 1e3 * times.forecast_ms;
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
        text += fmt::format("{:>10.3f} {:>7.2f} {:>10} {:>9.1f} {:>8.1f}  {} ({}, {}, {})\n", mean(t),
                            100 * mean(t) / total, machine_ ? fmt::format("{:.3f}", t.forecast_ms) : "-",
                            t.gflop / ms * 1e3, t.megabytes / ms, name, t.op, t.kernel, t.phase);
    }
    text += fmt::format("{:>10.3f} {:>7} {:>10}  all nodes: a micro-step and an update", total, "",
                        machine_ ? fmt::format("{:.3f}", expected) : "-");
    if (machine_)
        text += fmt::format("; measured is {:+.1f} % off the forecast", 100 * (total / expected - 1));
    return text + "\n";
}

std::string StepProfiler::trace() const {
    nlohmann::json events = nlohmann::json::array();
    const auto track = [&](int id, const char* name) {
        events.push_back(
            {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", id}, {"args", {{"name", name}}}});
    };
    const auto span = [&](int id, const std::string& node, double start_us, double duration_us) {
        const NodeTimes& t = nodes_.at(node);
        events.push_back({{"name", node},
                          {"cat", t.phase},
                          {"ph", "X"},
                          {"ts", start_us},
                          {"dur", duration_us},
                          {"pid", 1},
                          {"tid", id},
                          {"args", {{"op", t.op}, {"kernel", t.kernel}, {"forecast_ms", t.forecast_ms}}}});
    };
    track(1, "measured");
    if (machine_) track(2, "forecast");
    for (const Event& event : events_) {
        span(1, event.node, event.start_us, event.duration_us);
        if (machine_) span(2, event.node, event.forecast_us, 1e3 * nodes_.at(event.node).forecast_ms);
    }
    return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace mpt
