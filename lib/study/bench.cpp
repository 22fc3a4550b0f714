#include "study/bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/error.h"
#include "exec/executor.h"
#include "forecast/cpu.h"
#include "study/step_family.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// A micro-batch that owns its bytes: what the feed hands out lives only until its next one.
class KeptBatch {
  public:
    explicit KeptBatch(const MicroBatch& batch) : batch_(batch) {
        for (const GraphInput& input : batch.inputs) {
            names_.emplace_back(input.name);
            bytes_.emplace_back(input.bytes.begin(), input.bytes.end());
        }
        for (std::size_t i = 0; i < batch_.inputs.size(); ++i) batch_.inputs[i] = {names_[i], bytes_[i]};
    }
    KeptBatch(const KeptBatch&) = delete;
    KeptBatch& operator=(const KeptBatch&) = delete;
    const MicroBatch& batch() const { return batch_; }

  private:
    MicroBatch batch_;
    std::vector<std::string> names_;
    std::vector<std::vector<std::byte>> bytes_;
};

// Sums of an update's parts.
struct Parts {
    double wait = 0, forward = 0, backward = 0, update = 0, total = 0;
    std::int64_t weight = 0;
};

class Bench {
  public:
    explicit Bench(const BenchRequest& request)
        : config_(request.config), data_(open_data(config_)), threads_(num_threads(config_)) {
        program_ = std::make_unique<TrainingProgram>(config_, data_->description, threads_);
        expect_batches(*program_, *data_, {});
        program_->check_fits(program_->available_bytes());
        program_->allocate();
        program_->initialize(config_.seed);
        feed_ = data_->training_feed({});
        // A device would have to be awaited after every node; it is timed as a whole.
        if (!program_->runs_late()) observe();
    }

    Parts over_data() {
        Parts parts;
        begin(parts);
        const auto start = Clock::now();
        for (bool more = true; more;) {
            const FeedItem item = feed_->next();
            MPT_CHECK(item.batch != nullptr, "the data ended before the bench");
            if (kept_ == nullptr) kept_ = std::make_unique<KeptBatch>(*item.batch);
            step(*item.batch, item.window_weight, parts);
            parts.wait += item.wait_ms;
            more = !item.ends_update();
        }
        finish(parts, start);
        return parts;
    }
    Parts over_one_batch() {
        Parts parts;
        begin(parts);
        const auto start = Clock::now();
        const std::int64_t micro_steps = config_.train.accumulate;
        for (std::int64_t m = 0; m < micro_steps; ++m)
            step(kept_->batch(), kept_->batch().weight * micro_steps, parts);
        finish(parts, start);
        return parts;
    }
    const RunData& data() const { return *data_; }
    const TrainingProgram& program() const { return *program_; }

  private:
    void observe() {
        program_->observe([this](const Executor& executor, const PlannedStep& planned) {
            const auto now = Clock::now();
            const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
            last_ = now;
            switch (executor.plan().graph.node(planned.node).phase) {
                case Phase::kForward:
                    parts_->forward += ms;
                    break;
                case Phase::kBackward:
                    parts_->backward += ms;
                    break;
                case Phase::kUpdate:
                    break;  // timed as a whole
            }
        });
    }
    void begin(Parts& parts) { parts_ = &parts; }
    void step(const MicroBatch& batch, std::int64_t window_weight, Parts& parts) {
        last_ = Clock::now();
        started_.push_back(program_->start_micro_step(batch, {window_weight, micro_steps_++}));
        parts.weight += batch.weight;
    }
    void finish(Parts& parts, Clock::time_point start) {
        const auto before = Clock::now();
        program_->update_result(program_->start_update());
        parts.update = ms_since(before);
        for (const std::int64_t number : started_) program_->micro_step_result(number);
        started_.clear();
        parts.total = ms_since(start);
    }

    const RunConfig& config_;
    std::unique_ptr<RunData> data_;
    int threads_;
    std::unique_ptr<TrainingProgram> program_;
    std::unique_ptr<BatchFeed> feed_;
    std::unique_ptr<KeptBatch> kept_;
    Parts* parts_ = nullptr;
    Clock::time_point last_;
    std::int64_t micro_steps_ = 0;
    std::vector<std::int64_t> started_;  // of this update
};

BenchSeries series_of(const std::string& name, const std::vector<Parts>& all) {
    BenchSeries series;
    series.name = name;
    std::vector<double> rates;
    for (const Parts& parts : all) {
        rates.push_back(static_cast<double>(parts.weight) / parts.total * 1e3);
        series.wait_ms += parts.wait;
        series.forward_ms += parts.forward;
        series.backward_ms += parts.backward;
        series.update_ms += parts.update;
        series.update_total_ms += parts.total;
    }
    const double count = static_cast<double>(all.size());
    for (double* value : {&series.wait_ms, &series.forward_ms, &series.backward_ms, &series.update_ms,
                          &series.update_total_ms})
        *value /= count;
    series.other_ms =
        series.update_total_ms - series.wait_ms - series.forward_ms - series.backward_ms - series.update_ms;
    series.per_second = percentiles_of(std::move(rates));
    return series;
}

double resident_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

void judge(BenchResult& result, const GraphForecast& step) {
    const BenchSeries& measured = result.series.back();
    double memory = 0, launch = 0;
    for (const NodeForecast& node : step.nodes) {
        memory += node.bound == Bound::kMemory ? node.ms : 0;
        launch += node.bound == Bound::kLaunch ? node.ms : 0;
    }
    const double wait = measured.wait_ms / measured.update_total_ms;
    const double other = measured.other_ms / measured.update_total_ms;
    result.verdict = wait > 0.15                       ? Verdict::kInput
                     : other + launch / step.ms > 0.25 ? Verdict::kLaunch
                     : memory > 0.5 * step.ms          ? Verdict::kMemory
                                                       : Verdict::kCompute;
    result.reason = fmt::format(
        "{:.0f} % of an update waits for data, {:.0f} % is between kernels; by the forecast "
        "{:.0f} % of the micro-step is bound by memory",
        100 * wait, 100 * std::max(0.0, other), 100 * memory / step.ms);
}

void add_forecast(BenchResult& result, const Bench& run, const RunConfig& config) {
    const int threads = num_threads(config);
    const CpuMachine machine = this_machine(threads);
    const StepFamily family(config, run.data().description, threads,
                            {config.precision.mode, config.memory.recompute, Style::kFused});
    const Plan plan = compile(family.graph(), {&cpu_kernels(), threads, false});
    const Plan update = compile(family.update(), {&cpu_kernels(), threads, false});
    const GraphForecast step = forecast(plan, work_of(plan.graph), machine);
    const double accumulate = static_cast<double>(config.train.accumulate);
    const double ms = accumulate * step.ms + forecast(update, work_of(update.graph), machine).ms;
    const BenchSeries& first = result.series.front();
    const double weight = first.per_second.mean * first.update_total_ms * 1e-3;
    result.forecast_per_second = weight / ms * 1e3;
    result.tflops = accumulate * step.product_flops / (first.update_total_ms * 1e-3) * 1e-12;
    result.mfu = result.tflops * 1e12 / (machine.core_flops * threads);
    result.device = fmt::format("{}, {} threads", machine.name, threads);
    judge(result, step);
}

}  // namespace

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

Percentiles percentiles_of(std::vector<double> values) {
    Percentiles out;
    if (values.empty()) return out;
    std::ranges::sort(values);
    const auto at = [&](double share) {  // linear between neighbours
        const double place = share * static_cast<double>(values.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const std::size_t above = std::min(below + 1, values.size() - 1);
        return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
    };
    for (const double value : values) out.mean += value / static_cast<double>(values.size());
    out.median = at(0.5);
    out.p5 = at(0.05);
    out.p95 = at(0.95);
    return out;
}

BenchResult bench(const BenchRequest& request) {
    BenchRequest own = request;
    // The feed must not end before the bench does.
    own.config.train.steps = 2 * (request.steps + request.warmup) + 2;
    own.config.train.epochs.reset();
    Bench run(own);
    std::vector<Parts> one_batch, data;
    run.over_data();  // keeps the batch that the other series repeats; compiles what compiles late
    for (std::int64_t s = 0; s < request.warmup + request.steps; ++s) {
        if (request.stop != nullptr && request.stop->asked() != 0) break;
        const Parts kept = run.over_one_batch(), fed = run.over_data();
        if (s < request.warmup) continue;
        one_batch.push_back(kept);
        data.push_back(fed);
    }
    BenchResult result;
    if (one_batch.empty())
        throw Error(ExitCode::kUsage, "the bench was stopped before its first measured update");
    result.unit = name_of(run.data().unit());
    result.batch = own.config.train.batch_size;
    result.micro_batch = own.config.train.micro_batch();
    result.series = {series_of("one batch", one_batch), series_of("data", data)};
    result.planned_mib = static_cast<double>(run.program().memory().arena_bytes) / (1 << 20);
    result.seen_mib = resident_mib();
    add_forecast(result, run, own.config);
    return result;
}

std::string print(const BenchResult& r) {
    std::string text = fmt::format("{}; batch {}, micro-batch {}\n", r.device, r.batch, r.micro_batch);
    text += fmt::format("{:<10} {:>10} {:>10} {:>10} {:>10}   ms an update: {:>8} {:>9} {:>9} {:>8} {:>7}\n",
                        r.unit + "/s", "median", "mean", "5 %", "95 %", "wait", "forward", "backward",
                        "update", "other");
    for (const BenchSeries& s : r.series)
        text += fmt::format(
            "{:<10} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>16.2f} {:>14.2f} {:>9.2f} {:>8.2f} {:>7.2f}\n",
            s.name, s.per_second.median, s.per_second.mean, s.per_second.p5, s.per_second.p95, s.wait_ms,
            s.forward_ms, s.backward_ms, s.update_ms, s.other_ms);
    text += fmt::format(
        "{:.4f} TFLOP/s in products, MFU {:.3f} (product FLOPs / time / cores x multiply-add rate)\n",
        r.tflops, r.mfu);
    text += fmt::format("forecast {:.4g} {}/s: measured is {:+.1f} % off it\n", r.forecast_per_second, r.unit,
                        100 * (r.series.front().per_second.median / r.forecast_per_second - 1));
    text += fmt::format("memory: arena planned {:.1f} MiB, the process had {:.1f} MiB at most\n",
                        r.planned_mib, r.seen_mib);
    return text + fmt::format("{}: {}\n", name_of(r.verdict), r.reason);
}

}  // namespace mpt
