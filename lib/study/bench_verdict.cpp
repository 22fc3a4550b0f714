#include "study/bench_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/cpu_probe.h"
#include "study/outlook.h"
#include "study/study.h"
#include "train/program_config.h"
#include "train/run_device.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

// A forecast of a micro-step and an update, and the same at the peaks.
struct Expected {
    GraphForecast step;
    double update_ms = 0, roofline_ms = 0;  // of a micro-step
    double peak = 0;                        // flop/s of the precision's products
};

Expected on_cpu(const Benched& benched, const StepFamily& family, std::string* device) {
    const int threads = num_threads(benched.config);
    const Plan plan = compile(family.graph(), {&cpu_kernels(), threads, false});
    const Plan update = compile(family.update(), {&cpu_kernels(), threads, false});
    const CpuMachine machine = measured_machine(family, plan, threads);
    *device = print(machine);
    Expected out;
    const std::vector<NodeWork> work = work_of(plan.graph);
    out.step = forecast(plan, work, machine);
    out.update_ms = forecast(update, work_of(update.graph), machine).ms;
    for (const NodeWork& node : work) out.roofline_ms += 1e3 * roofline_seconds(node, machine);
    out.peak =
        machine.peak(narrow_type(benched.config.precision.mode) == DType::bf16 ? DType::bf16 : DType::f32);
    return out;
}

Expected on_gpu(const Gpu& gpu, PrecisionMode mode, const StepFamily& family) {
    const Tf32 tf32 = mode == PrecisionMode::kTf32 ? Tf32::kOn : Tf32::kOff;
    const std::vector<NodeWork> work = work_of(family.graph());
    const SustainedRates rates = sustained_rates(Software::kFused);
    Expected out;
    out.step = forecast(family.graph(), work, gpu, tf32, rates);
    out.update_ms = forecast(family.update(), work_of(family.update()), gpu, Tf32::kOff, rates).ms;
    out.roofline_ms = forecast(family.graph(), work, gpu, tf32, ideal_rates()).ms;
    out.peak = gpu.peak(format_of(mode));
    return out;
}

void decide(BenchResult& result, const GraphForecast& step) {
    const BenchSeries& measured = result.series.back();
    double memory = 0, launch = 0;
    for (const NodeForecast& node : step.nodes) {
        memory += node.bound == Bound::kMemory ? node.ms : 0;
        launch += node.bound == Bound::kLaunch ? node.ms : 0;
    }
    const double of_step = step.ms > 0 ? 1 / step.ms : 0;
    const double wait = measured.wait_ms / measured.update_total_ms;
    const double other = std::max(0.0, measured.other_ms / measured.update_total_ms);
    result.verdict = wait > 0.15                       ? Verdict::kInput
                     : other + launch * of_step > 0.25 ? Verdict::kLaunch
                     : memory * of_step > 0.5          ? Verdict::kMemory
                                                       : Verdict::kCompute;
    result.reason = fmt::format(
        "{:.0f} % of an update waits for data, {:.0f} % is between kernels; by the forecast {:.0f} % of the "
        "micro-step is bound by launches, {:.0f} % by memory",
        100 * wait, 100 * other, 100 * launch * of_step, 100 * memory * of_step);
}

}  // namespace

void judge(BenchResult& result, const Benched& benched) {
    const RunConfig& config = benched.config;
    const StepFamily family(config, benched.data, num_threads(config),
                            {config.precision.mode, config.memory.recompute, Style::kFused});
    const Gpu* gpu = nullptr;
    Expected expected;
    if (benched.device == nullptr) {
        expected = on_cpu(benched, family, &result.device);
    } else {
        result.device = name_of_device(benched.device);
        gpu = gpu_of_driver(benched.device->info().name);
        if (gpu != nullptr) expected = on_gpu(*gpu, config.precision.mode, family);
    }
    const auto accumulate = static_cast<double>(config.train.accumulate);
    const BenchSeries& first = result.series.front();
    const double seconds = first.update_total_ms * 1e-3;
    double product_flops = 0;  // recomputed ones are no progress, but few
    for (const NodeWork& node : work_of(family.graph())) product_flops += node.product_flops;
    result.tflops = accumulate * product_flops / seconds * 1e-12;
    if (expected.peak > 0) {
        result.mfu = result.tflops * 1e12 / expected.peak;
        result.roofline_share = accumulate * expected.roofline_ms / first.update_total_ms;
        const double items = first.per_second.mean * seconds;
        result.forecast_per_second = 1e3 * items / (accumulate * expected.step.ms + expected.update_ms);
    }
    if (gpu != nullptr)
        if (const PublishedRate* rate = published_for(network_of(config.model), gpu->name,
                                                      std::string(name_of(config.precision.mode))))
            result.published = *rate;
    decide(result, expected.step);
}

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kInput:
            return "input-bound";
        case Verdict::kLaunch:
            return "launch-bound";
        case Verdict::kMemory:
            return "memory-bound";
        case Verdict::kCompute:
            return "compute-bound";
    }
    return "?";
}

std::string print(const BenchResult& r) {
    std::string text = fmt::format("{}; batch {}, micro-batch {}\n", r.device, r.batch, r.micro_batch);
    text += fmt::format("{:<10} {:>10} {:>10} {:>10} {:>10}   ms an update: {:>8} {:>9} {:>9} {:>8} {:>7}\n",
                        r.unit + "/s", "median", "mean", "5 %", "95 %", "wait", "forward", "backward",
                        "update", "other");
    for (const BenchSeries& s : r.series)
        text += fmt::format(
            "{:<10} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>23.2f} {:>9.2f} {:>9.2f} {:>8.2f} {:>7.2f}\n",
            s.name, s.per_second.median, s.per_second.mean, s.per_second.p5, s.per_second.p95, s.wait_ms,
            s.forward_ms, s.backward_ms, s.update_ms, s.other_ms);
    text += fmt::format("{:.4f} TFLOP/s in products", r.tflops);
    if (r.mfu > 0)
        text += fmt::format(
            ", MFU {:.3f} (product FLOPs / time / peak of the precision), {:.3f} of the roofline (time at "
            "the "
            "peaks of arithmetic and memory, op by op, / time)",
            r.mfu, r.roofline_share);
    text += "\n";
    const double median = r.series.front().per_second.median;
    if (r.forecast_per_second > 0)
        text += fmt::format("forecast {:.4g} {}/s: measured is {:+.1f} % off it\n", r.forecast_per_second,
                            r.unit, 100 * (median / r.forecast_per_second - 1));
    if (r.published)
        text += fmt::format("{:.1f} % of the {:.0f} {} published for this GPU ({}, batch {})\n",
                            100 * median / r.published->per_second, r.published->per_second,
                            r.published->unit, r.published->source, r.published->batch);
    else
        text += "no figure is published for this network, precision and device\n";
    text += fmt::format("memory: arena planned {:.1f} MiB, the process had {:.1f} MiB at most\n",
                        r.planned_mib, r.seen_mib);
    if (!r.sensors.empty()) text += r.sensors + "\n";
    return text + fmt::format("{}: {}\n", name_of(r.verdict), r.reason);
}

}  // namespace mpt
