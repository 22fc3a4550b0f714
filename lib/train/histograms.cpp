#include "train/histograms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "exec/executor.h"
#include "graph/op.h"

namespace mpt {

namespace {

constexpr double kHeadroomBits = 2;  // gradients grow by some bits before the scale is looked at again
constexpr double kLargestScale = 0x1p24;

// Counts of elements that are not zero, by value.
std::map<std::string, std::int64_t> nonzero_at(TrainingProgram& program, float loss_scale) {
    std::map<std::string, std::int64_t> counts;
    program.replay(loss_scale, [&](const Executor& executor, const PlannedStep& step) {
        const Graph& graph = executor.plan().graph;
        const Node& node = graph.node(step.node);
        if (node.phase != Phase::kBackward) return;
        for (const ValueId out : node.outputs)
            if (graph.type(out).dtype == DType::f16)
                counts[graph.value(out).name] =
                    statistics_of(executor.fetch(out).data(), graph.type(out)).nonzero();
    });
    return counts;
}

void recommend(TrainingProgram& program, HistogramReport& report) {
    double largest = 0;
    for (const ValueHistogram& value : report.values)
        if (value.phase == name_of(Phase::kBackward) && value.dtype == name_of(DType::f16))
            largest = std::max(largest, value.statistics.nonfinite > 0 ? INFINITY : value.statistics.max_abs);
    if (!(largest > 0)) return;
    // An infinite gradient says nothing of how much it is too large: halve, as the rule does.
    const double bits = std::isfinite(largest) ? std::floor(std::log2(65504 / largest)) - kHeadroomBits : -1;
    const double scale = std::clamp(report.loss_scale * std::exp2(bits), 1.0, kLargestScale);
    report.recommended = static_cast<float>(std::exp2(std::floor(std::log2(scale))));
    if (*report.recommended <= report.loss_scale) return;
    const std::map<std::string, std::int64_t> there = nonzero_at(program, *report.recommended);
    double flushed = 0, elements = 0, worst = 0;
    for (ValueHistogram& value : report.values) {
        const auto found = there.find(value.value);
        if (value.phase != name_of(Phase::kBackward) || found == there.end()) continue;
        const auto lost =
            static_cast<double>(std::max<std::int64_t>(0, found->second - value.statistics.nonzero()));
        const auto all = static_cast<double>(value.statistics.elements);
        value.flushed = lost / std::max(all, 1.0);
        flushed += lost;
        elements += all;
        if (value.flushed <= worst) continue;
        worst = value.flushed;
        report.worst = value.value;
    }
    report.flushed = flushed / std::max(elements, 1.0);
}

nlohmann::ordered_json json_of(const ValueHistogram& value, std::int64_t step) {
    const ValueStatistics& s = value.statistics;
    nlohmann::ordered_json bins = nlohmann::ordered_json::object();
    for (std::size_t b = 0; b < s.exponents.size(); ++b)
        if (s.exponents[b] > 0)
            bins[std::to_string(static_cast<int>(b) + ValueStatistics::kLowest)] = s.exponents[b];
    const bool any = s.max_abs > 0;
    return {{"kind", "histogram"},
            {"step", step},
            {"value", value.value},
            {"op", value.op},
            {"phase", value.phase},
            {"dtype", value.dtype},
            {"elements", s.elements},
            {"zeros", s.zeros},
            {"subnormal", s.subnormal},
            {"nonfinite", s.nonfinite},
            {"flushed", value.flushed},
            {"max_abs", s.max_abs},
            {"headroom_bits", any ? nlohmann::ordered_json(s.headroom_bits()) : nlohmann::ordered_json()},
            {"exponents", bins}};
}

}  // namespace

HistogramReport look_at_values(TrainingProgram& program, float loss_scale) {
    HistogramReport report;
    report.loss_scale = loss_scale;
    program.replay(loss_scale, [&](const Executor& executor, const PlannedStep& step) {
        const Graph& graph = executor.plan().graph;
        const Node& node = graph.node(step.node);
        for (const ValueId out : node.outputs) {
            const TensorType& type = graph.type(out);
            if (!is_float(type.dtype) || type.shape.num_elements() == 0) continue;
            report.values.push_back({graph.value(out).name, std::string(node.op->name), name_of(node.phase),
                                     std::string(name_of(type.dtype)),
                                     statistics_of(executor.fetch(out).data(), type), 0});
        }
    });
    recommend(program, report);
    return report;
}

std::string to_json_lines(const HistogramReport& report, std::int64_t step) {
    std::string text;
    for (const ValueHistogram& value : report.values) text += json_of(value, step).dump() + "\n";
    nlohmann::ordered_json whole = {
        {"kind", "scale"},           {"step", step},          {"loss_scale", report.loss_scale},
        {"flushed", report.flushed}, {"worst", report.worst}, {"recommended_loss_scale", nullptr}};
    if (report.recommended) whole["recommended_loss_scale"] = *report.recommended;
    return text + whole.dump() + "\n";
}

std::string print(const HistogramReport& report) {
    double headroom = INFINITY;
    std::string largest;
    for (const ValueHistogram& value : report.values)
        if (value.dtype == name_of(DType::f16) && value.statistics.max_abs > 0 &&
            value.statistics.headroom_bits() < headroom) {
            headroom = value.statistics.headroom_bits();
            largest = value.value;
        }
    std::string text =
        fmt::format("histograms of {} values at loss scale {}", report.values.size(), report.loss_scale);
    if (std::isfinite(headroom))
        text += fmt::format("; {:.1f} bits of headroom to 65504, least in {}", headroom, largest);
    if (!report.recommended) return text + "; no f16 gradients, so no loss scale is recommended";
    text += fmt::format("; {:.3g} % of f16 gradients are flushed to zero", 100 * report.flushed);
    if (!report.worst.empty()) text += ", most in " + report.worst;
    return text + fmt::format("; recommended loss scale {}", *report.recommended);
}

}  // namespace mpt
