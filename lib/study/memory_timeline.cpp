#include "study/memory_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/svg_chart.h"
#include "study/description.h"
#include "study/step_family.h"
#include "train/run_setup.h"

namespace mpt {

std::vector<double> live_bytes(const Plan& plan) {
    const Graph& graph = plan.graph;
    const int num_steps = static_cast<int>(graph.nodes.size());
    std::vector<int> first(graph.values.size(), -1), last(graph.values.size(), -1);
    for (int n = 0; n < num_steps; ++n) {
        for (const ValueId in : graph.node(n).inputs)
            if (in != kNone) last[static_cast<std::size_t>(in)] = n;
        for (const ValueId out : graph.node(n).outputs)
            first[static_cast<std::size_t>(out)] = last[static_cast<std::size_t>(out)] = n;
    }
    for (const Graph::Output& output : graph.outputs)
        last[static_cast<std::size_t>(output.value)] = num_steps - 1;
    // Values that share memory have one offset: the largest at an offset counts.
    std::vector<std::map<std::int64_t, std::int64_t>> alive(static_cast<std::size_t>(num_steps));
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        if (plan.placements[v].stored || last[v] < 0) continue;
        const bool input = graph.values[v].kind == ValueKind::kInput;
        for (int n = input ? 0 : std::max(first[v], 0); n <= last[v]; ++n) {
            std::int64_t& bytes = alive[static_cast<std::size_t>(n)][plan.placements[v].offset];
            bytes = std::max(bytes, graph.values[v].type.bytes());
        }
    }
    std::vector<double> live;
    for (int n = 0; n < num_steps; ++n) {
        double bytes = static_cast<double>(plan.steps[static_cast<std::size_t>(n)].prepared.workspace_bytes);
        for (const auto& [offset, size] : alive[static_cast<std::size_t>(n)])
            bytes += static_cast<double>(size);
        live.push_back(bytes);
    }
    return live;
}

std::string memory_picture(const RunConfig& config, const std::string& title) {
    const DescribedData data = describe_data(config);
    const int threads = num_threads(config);
    const StepFamily family(config, data.data, threads,
                            {config.precision.mode, config.memory.recompute, Style::kFused});
    const Plan plan = compile(family.graph(), {&cpu_kernels(), threads, false});
    Chart chart;
    const std::vector<double> live = live_bytes(plan);
    const double most = live.empty() ? 0 : *std::ranges::max_element(live);
    const MemoryReport memory = family.memory(family.micro_batch(), StepFamily::Workspaces::kOfKernels);
    const auto mib = [](double bytes) { return fmt::format("{:.1f} MiB", bytes / (1 << 20)); };
    chart.title = fmt::format("{}: values alive, at most {}; {} allocated in all", title, mib(most),
                              mib(static_cast<double>(memory.arena_bytes)));
    chart.x_label = "step of the micro-step's plan; the line marks where the backward half begins";
    chart.y_label = "MiB";
    chart.shape = ChartShape::kArea;
    ChartSeries series{"alive", {}, live};
    for (std::size_t n = 0; n < series.y.size(); ++n) {
        series.x.push_back(static_cast<double>(n));
        series.y[n] /= 1 << 20;
    }
    for (std::size_t n = 0; n < plan.graph.nodes.size() && chart.marks.empty(); ++n)
        if (plan.graph.nodes[n].phase == Phase::kBackward)
            chart.marks.push_back({static_cast<double>(n), -1});
    chart.marks_label = "backward";
    chart.series.push_back(std::move(series));
    return svg(chart);
}

}  // namespace mpt
