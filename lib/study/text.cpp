// The plan in words, for a terminal of 110 columns.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "study/study.h"

namespace mpt {

namespace {

std::string mib(std::int64_t bytes) {
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string duration(double seconds) {
    if (seconds < 120) return fmt::format("{:.1f} s", seconds);
    if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

std::string clipped(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string header_text(const PlanStudy& s) {
    const TrainConfig& train = s.config.train;
    std::string text = fmt::format("plan of {}: {}, {} parameters; {}\n", s.config.name, s.network,
                                   s.num_parameters, s.device);
    const BatchShape& shape = s.data.data.micro_batch;
    text += fmt::format("batch {} = {} x micro-batch {}, precision {}, recompute {}\n",
                        shape.rows * train.accumulate, train.accumulate, to_string(shape),
                        name_of(s.config.precision.mode), name_of(s.config.memory.recompute));
    text += fmt::format("work a sample: forward {:.3f} GMAC, training {:.2f} GFLOP in matrix products\n",
                        s.forward_gmac, s.train_gflop);
    for (const std::string& note : s.data.notes) text += "note: " + note + "\n";
    return text;
}

std::string grouped_audit(const PlanStudy& s) {
    struct Group {
        int count = 0;
        std::string first, refused;
    };
    std::map<std::string, Group> groups;
    std::vector<std::string> order;
    for (const AuditRow& row : s.audit) {
        const std::string key =
            fmt::format("{:<30} {:<34} {:<24} {}", row.op, clipped(row.storage, 34), row.compute, row.kernel);
        Group& group = groups[key];
        if (group.count++ == 0) {
            order.push_back(key);
            group.first = row.node;
            for (const std::string& refusal : row.refused) group.refused += "\n        not " + refusal;
        }
    }
    std::string text = fmt::format("       {:<30} {:<34} {:<24} {}\n", "op", "storage", "compute", "kernel");
    for (const std::string& key : order)
        text += fmt::format("  {:>4} {}{}\n", groups[key].count, key, groups[key].refused);
    return text;
}

std::string full_audit(const PlanStudy& s) {
    std::string text;
    for (const AuditRow& row : s.audit) {
        text += fmt::format("  {}: {} ({}), {}, computed in {}, summed in {}{}\n", row.node, row.op,
                            row.phase, row.storage, row.compute, row.accumulate,
                            row.kernel.empty() ? "" : ", kernel " + row.kernel);
        for (const std::string& refusal : row.refused) text += "      not " + refusal + "\n";
    }
    return text;
}

std::string audit_text(const PlanStudy& s, Detail detail) {
    std::string text = "\nprecision audit (sums in f32 everywhere";
    text += detail == Detail::kSummary ? "; --every-op lists each node)\n" : ")\n";
    text += detail == Detail::kSummary ? grouped_audit(s) : full_audit(s);
    text += fmt::format("casts in a micro-step: {}\n", s.casts.size());
    for (const CastRow& cast : s.casts)
        text += fmt::format("  {} {} -> {}, {}: {}\n", cast.value, cast.from, cast.to, mib(cast.bytes),
                            cast.reason);
    return text;
}

std::int64_t largest(const PlanStudy& s, PrecisionMode mode, Software software) {
    for (const MemoryRow& row : s.memory_rows)
        if (row.mode == mode && row.software == software && row.recompute == Recompute::kOff)
            return row.largest_micro_batch;
    return 0;
}

// How much mixed precision lets the batch grow, beside what was published.
std::string batches_text(const PlanStudy& s) {
    std::string text;
    for (const Software software : {Software::kFused, Software::kOpByOp}) {
        const std::int64_t f32 = largest(s, PrecisionMode::kFp32, software);
        const std::int64_t amp = largest(s, PrecisionMode::kAmpFp16, software);
        if (f32 == 0) continue;
        text += fmt::format("  largest batches amp_fp16 : fp32 = {} : {} = {:.2f} ({})\n", amp, f32,
                            static_cast<double>(amp) / static_cast<double>(f32), name_of(software));
    }
    if (s.batches == nullptr) return text;
    return text + fmt::format(
                      "  published for frameworks: {} : {} = {:.2f}; of round batches, with an allocator's "
                      "gaps and cuDNN's workspaces, which op by op does not count\n",
                      s.batches->amp, s.batches->f32,
                      static_cast<double>(s.batches->amp) / static_cast<double>(s.batches->f32));
}

std::string memory_text(const PlanStudy& s) {
    std::string text = "\n" + print(s.memory);
    text += "  the largest tensors alive at the peak:\n";
    for (const MemoryReport::Live& live : s.memory.at_peak)
        text += fmt::format("    {:>12}  {}  {}\n", mib(live.bytes), live.name, live.type);
    text += fmt::format("\nat micro-batch {}, and the largest that {} hold:\n",
                        to_string(s.data.data.micro_batch), mib(s.memory_limit_bytes));
    text += fmt::format("  {:<10} {:<9} {:>14} {:>14} {:>20}\n", "precision", "recompute", "activations",
                        "peak", "largest micro-batch");
    for (const MemoryRow& row : s.memory_rows)
        text += fmt::format("  {:<10} {:<9} {:>14} {:>14} {:>20}\n", name_of(row.mode),
                            row.software == Software::kOpByOp ? "op by op" : name_of(row.recompute),
                            mib(row.activations_bytes), mib(row.peak_bytes), row.largest_micro_batch);
    text += batches_text(s);
    text += "  accumulation:";
    for (const AccumulateRow& row : s.accumulate_rows)
        text += fmt::format(" {} x {} {}{}", row.accumulate, row.micro_batch, mib(row.peak_bytes),
                            &row == &s.accumulate_rows.back() ? "\n" : ",");
    return text;
}

std::string advice_text(const PlanStudy& s) {
    std::string text = "\nTensor Cores\n";
    if (s.advice.empty()) text += "  name a GPU with --gpu to have every product graded\n";
    double total = 0;
    for (const AdviceRow& row : s.advice) total += row.ms;
    for (const AdviceRow& row : s.advice) {
        text +=
            fmt::format("  {:<11} {:>4} products, {:>4.1f} % of their time, {}: {}", name_of(row.grade.grade),
                        row.nodes.size(), 100 * row.ms / total, row.nodes.front(),
                        row.grade.why.empty() ? "full tiles and waves" : row.grade.why);
        if (!row.grade.advice.empty())
            text += fmt::format("; {}: {:.2f} x as fast", row.grade.advice, row.grade.gain);
        text += "\n";
    }
    return text + "  " + s.batch.sentence + "\n";
}

std::string cudnn_text(const PlanStudy& s) {
    if (s.cudnn.rows.empty() && s.cudnn.reason.empty()) return {};
    if (s.cudnn.version.empty()) return "\ncuDNN was not asked: " + s.cudnn.reason + "\n";
    std::string text =
        fmt::format("\ncuDNN {} asked for {}, without the GPU: {} kinds of convolution, workspace up to {}\n",
                    s.cudnn.version, s.device, s.cudnn.rows.size(), mib(s.cudnn.most_workspace_bytes()));
    for (const CudnnRow& row : s.cudnn.rows)
        text += fmt::format("  {:>3} x {}: {}\n", row.count, row.convolution,
                            row.engine.empty()
                                ? std::string("our own kernel")
                                : fmt::format("{}, workspace {}", row.engine, mib(row.workspace_bytes)));
    return text;
}

std::string ratios(const PlanStudy& s) {
    const auto of = [&](PrecisionMode mode) {
        for (const ForecastRow& row : s.forecasts)
            if (row.mode == mode && row.software == Software::kFused) return row.per_second;
        return 0.0;
    };
    const double amp = of(PrecisionMode::kAmpFp16), tf32 = of(PrecisionMode::kTf32);
    const double fp32 = of(PrecisionMode::kFp32);
    if (amp == 0 || fp32 == 0) return {};
    if (tf32 == 0) return fmt::format("  amp_fp16 : fp32 = {:.2f} : 1 (fused)\n", amp / fp32);
    return fmt::format("  amp_fp16 : tf32 : fp32 = {:.2f} : {:.2f} : 1; amp_fp16 is {:.2f} x tf32 (fused)\n",
                       amp / fp32, tf32 / fp32, amp / tf32);
}

std::string forecast_text(const PlanStudy& s) {
    const std::string unit = s.data.sample + "/s";
    std::string text = fmt::format("\nforecast for {}\n", s.device);
    text += fmt::format("  {:<10} {:<9} {:>12} {:>10} {:>12} {:>10} {:>8} {:>6} {:>11}\n", "precision",
                        "kernels", "ms/micro", "ms/update", unit, "epoch", "TFLOP/s", "MFU", "of roofline");
    for (const ForecastRow& row : s.forecasts) {
        if (!row.unavailable.empty()) {
            text +=
                fmt::format("  {:<10} {:<9} {}\n", name_of(row.mode), name_of(row.software), row.unavailable);
            continue;
        }
        text +=
            fmt::format("  {:<10} {:<9} {:>12.2f} {:>10.2f} {:>12.1f} {:>10} {:>8.2f} {:>6.3f} {:>11}\n",
                        name_of(row.mode), name_of(row.software), row.micro_step_ms, row.update_ms,
                        row.per_second, row.epoch_seconds > 0 ? duration(row.epoch_seconds) : "-", row.tflops,
                        row.mfu, row.roofline_share > 0 ? fmt::format("{:.2f}", row.roofline_share) : "-");
    }
    text += ratios(s);
    text +=
        "  MFU = useful product FLOPs / time / dense peak of the precision's format\n"
        "  of roofline = time at the peaks of arithmetic and memory, op by op, / time\n";
    if (std::ranges::any_of(s.forecasts, [](const ForecastRow& row) {
            return row.mode == PrecisionMode::kFp8 && row.unavailable.empty();
        }))
        text += "  fp8: linear layers but the logits, over bf16; no published figure was fitted for it\n";
    text += "  slowest ops of " + std::string(name_of(s.config.precision.mode)) + ":\n";
    for (const OpRow& row : s.slowest)
        text += fmt::format("    {:>9.3f} ms  {:<8} {:>9.2f} GFLOP {:>9.1f} MB  {} ({}, {})\n", row.ms,
                            name_of(row.bound), row.gflops, row.megabytes, row.node, row.op, row.format);
    return text;
}

std::string traffic_text(const PlanStudy& s) {
    const FusionReport& f = s.fusion;
    if (f.bytes_before == 0) return {};
    std::string text = fmt::format(
        "\nmemory traffic of a micro-step, {}\n  {:.1f} MB a sample, {:.1f} % of the {:.1f} MB "
        "without fusion\n",
        name_of(s.config.precision.mode), f.bytes_after * 1e-6, 100 * f.bytes_after / f.bytes_before,
        f.bytes_before * 1e-6);
    for (const FusionSaving& saving : f.savings)
        text += fmt::format("  {:>9.1f} MB {:>6.1f} %  {} ({} times)\n", -saving.bytes * 1e-6,
                            -100 * saving.bytes / f.bytes_before, saving.rewrite, saving.times);
    return text;
}

std::string scaling_text(const PlanStudy& s) {
    if (s.scaling.empty()) return {};
    std::string text = "\nscaling over " + s.link + "\n";
    for (const Scaling& row : s.scaling)
        text += fmt::format(
            "  {:>5} GPUs  all-reduce {:>8.2f} ms, not hidden {:>8.2f} ms, update {:>9.2f} ms, "
            "efficiency {:.3f}\n",
            row.num_gpus, row.all_reduce_ms, row.exposed_ms, row.step_ms, row.efficiency);
    return text;
}

}  // namespace

std::string print(const std::vector<CalibrationRow>& rows) {
    if (rows.empty()) return {};
    const bool starred =
        std::ranges::any_of(rows, [](const CalibrationRow& row) { return !row.published.fitted; });
    std::string text = "\nforecasts beside published throughput, to which their rates were fitted\n";
    if (starred)
        text +=
            "  (not to the starred rows, but these are held out only in part: the rate of f32 products was "
            "set "
            "after\n  their errors had been seen)\n";
    std::vector<CalibrationRow> fitted, others;
    for (const CalibrationRow& row : rows) {
        (row.published.fitted ? fitted : others).push_back(row);
        text += fmt::format(
            "{} {:<16} {:<15} {:<9} {:<9} {:>8.0f} forecast, {:>8.0f} {} published, {:+6.1f} %  {}\n",
            row.published.fitted ? ' ' : '*', row.published.model, row.published.gpu, row.published.precision,
            name_of(row.published.software), row.forecast, row.published.per_second, row.published.unit,
            100 * row.error(), row.published.source);
    }
    text += fmt::format("  median of absolute errors {:.1f} %", 100 * median_error(rows));
    if (!fitted.empty() && !others.empty())
        text +=
            fmt::format(": {:.1f} % of the {} fitted, {:.1f} % of the {} starred", 100 * median_error(fitted),
                        fitted.size(), 100 * median_error(others), others.size());
    return text + "\n";
}

std::string print(const PlanStudy& s, Detail detail) {
    return header_text(s) + audit_text(s, detail) + memory_text(s) + cudnn_text(s) + advice_text(s) +
           forecast_text(s) + traffic_text(s) + scaling_text(s) + print(s.calibration) +
           fmt::format("\nplanned in {:.2f} s\n", s.seconds);
}

}  // namespace mpt
