#include "forecast/cpu.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "backends/cpu/processor.h"
#include "graph/op.h"

namespace mpt {

namespace {

// Shares of the peaks for kinds that were not measured.
constexpr double kProducts = 0.6;
constexpr double kReference = 0.01;
constexpr double kPlainArithmetic = 0.17;  // element-wise loops
constexpr double kThinChannels = 8;        // a convolution of c channels reaches c / (c + 8)
constexpr double kNodeSeconds = 4e-6;      // starting the team

double product_seconds(const NodeWork& work, const CpuMachine& machine) {
    double seconds = 0;
    for (const Product& product : work.products) seconds += product.flops() / machine.peak(product.operand);
    return seconds;
}

double assumed_seconds(const PlannedStep& step, const NodeWork& work, const CpuMachine& machine) {
    const double plain = machine.peak(DType::f32) * kPlainArithmetic;
    double seconds = (work.flops - work.product_flops) / plain;
    double share = step.kernel == "ref" ? kReference : kProducts;
    if (!work.products.empty() && work.products.front().source == Product::Source::kConvolution)
        share *= features_of(work) / (features_of(work) + kThinChannels);
    seconds += product_seconds(work, machine) / share;
    return std::max(seconds, work.bytes / machine.bandwidth);
}

// Op and kernel of a kind, without its types.
std::string_view head_of(std::string_view kind) {
    return kind.substr(0, kind.rfind(')'));
}

// The measured one with features nearest to the node's, of its kind or, where there is none, of its kernel
// with other types; or null.
const KernelRate* rate_of(const CpuMachine& machine, const std::string& kind, double features) {
    const KernelRate* best = nullptr;
    const auto far = [&](const KernelRate& rate) {
        const double away = std::abs(std::log(std::max(rate.features, 1.0) / std::max(features, 1.0)));
        return std::pair(rate.kind != kind, away);
    };
    for (const KernelRate& rate : machine.rates)
        if (head_of(rate.kind) == head_of(kind) && (best == nullptr || far(rate) < far(*best))) best = &rate;
    return best;
}

NodeForecast node_forecast(const Graph& graph, const PlannedStep& step, const NodeWork& work,
                           const CpuMachine& machine) {
    NodeForecast out;
    out.node = step.node;
    out.flops = work.flops;
    out.product_flops = work.product_flops;
    out.bytes = work.bytes;
    const KernelRate* rate =
        machine.rates.empty() ? nullptr : rate_of(machine, kind_of(graph, step), features_of(work));
    const double units = work.product_flops > 0 ? work.product_flops : work.bytes;
    const double busy = rate != nullptr ? rate->seconds_each * units : assumed_seconds(step, work, machine);
    const double plain = (work.flops - work.product_flops) / machine.peak(DType::f32);
    out.compute_ms = 1e3 * (product_seconds(work, machine) + plain);
    out.memory_ms = 1e3 * work.bytes / machine.bandwidth;
    out.ms = 1e3 * (std::max(busy, 1e-3 * out.memory_ms) + kNodeSeconds);
    out.bound = busy < kNodeSeconds              ? Bound::kLaunch
                : out.compute_ms > out.memory_ms ? Bound::kCompute
                                                 : Bound::kMemory;
    return out;
}

std::string types_of(const Graph& graph, const std::vector<ValueId>& values) {
    std::string text;
    for (const ValueId id : values)
        text += id == kNone ? " -" : " " + std::string(name_of(graph.type(id).dtype));
    return text;
}

}  // namespace

double CpuMachine::peak(DType operand) const {
    const double core = operand == DType::bf16 && core_bf16_flops > 0 ? core_bf16_flops : core_flops;
    return core * num_threads;
}

std::string kind_of(const Graph& graph, const PlannedStep& step) {
    const Node& node = graph.node(step.node);
    return std::string(node.op->name) + ": " + step.kernel + " (" + step.prepared.description + ")" +
           types_of(graph, node.inputs) + " ->" + types_of(graph, node.outputs);
}

double features_of(const NodeWork& work) {
    double least = 0;
    for (const Product& product : work.products) {
        const auto features = static_cast<double>(std::min(product.in_features, product.out_features));
        least = least == 0 ? features : std::min(least, features);
    }
    return least;
}

double roofline_seconds(const NodeWork& work, const CpuMachine& machine) {
    const double plain = (work.flops - work.product_flops) / machine.peak(DType::f32);
    return std::max(product_seconds(work, machine) + plain, work.bytes / machine.bandwidth);
}

GraphForecast forecast(const Plan& plan, const std::vector<NodeWork>& work, const CpuMachine& machine) {
    GraphForecast out;
    for (const PlannedStep& step : plan.steps) {
        const std::size_t n = static_cast<std::size_t>(step.node);
        const NodeForecast node = node_forecast(plan.graph, step, work[n], machine);
        out.flops += node.flops;
        out.product_flops += node.product_flops;
        out.bytes += node.bytes;
        out.ms += node.ms;
        if (plan.graph.node(step.node).phase == Phase::kBackward) out.backward_ms += node.ms;
        out.nodes.push_back(node);
    }
    return out;
}

std::string print(const CpuMachine& machine) {
    const auto whole = [](double value) { return std::to_string(std::lround(value * 1e-9)); };
    std::string text = machine.name + ", " + std::to_string(machine.num_threads) +
                       (machine.num_threads == 1 ? " thread" : " threads") +
                       ", measured: " + whole(machine.core_flops) + " GFLOP/s a core";
    if (machine.core_bf16_flops > 0) text += " (bf16 " + whole(machine.core_bf16_flops) + ")";
    text += ", " + whole(machine.bandwidth) + " GB/s";
    if (!machine.rates.empty())
        text += ", " + std::to_string(machine.rates.size()) + " rates of kernels in " +
                std::to_string(std::lround(machine.measured_in_ms)) + " ms";
    constexpr double kUndisturbed = 0.1;
    if (machine.waited > kUndisturbed)
        text += "; threads waited for a core " + std::to_string(std::lround(100 * machine.waited)) +
                " % of the time, as others run here, so rates and forecast are too low";
    return text;
}

std::string cpu_name() {
    return cpu::read_processor().name;
}

}  // namespace mpt
