#include "study/bench.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "backends/nvml/sensors.h"
#include "core/clock.h"
#include "core/error.h"
#include "exec/executor.h"
#include "study/bench_verdict.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

double ms_since(double start) {
    return 1e3 * (now_seconds() - start);
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
    double wait = 0, micro = 0, forward = 0, backward = 0, update = 0, total = 0;
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
        if (program_->device() == nullptr)
            observe();
        else
            sensors_ = nvml::Sensors::open(program_->device()->info().index, &no_sensors_);
    }

    Parts over_data() {
        Parts parts;
        begin(parts);
        const double start = now_seconds();
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
        const double start = now_seconds();
        const std::int64_t micro_steps = config_.train.accumulate;
        for (std::int64_t m = 0; m < micro_steps; ++m)
            step(kept_->batch(), kept_->batch().weight * micro_steps, parts);
        finish(parts, start);
        return parts;
    }
    // On a GPU a micro-step is one recorded graph; run op by op, its halves are seen apart.
    void split(std::vector<Parts>& all) {
        if (program_->device() == nullptr) return;
        program_->time_steps([this](const Executor& executor, const std::vector<double>& ms) {
            for (std::size_t s = 0; s < ms.size(); ++s)
                add(executor.plan().graph.node(executor.plan().steps[s].node).phase, ms[s]);
        });
        const Parts apart = over_one_batch();
        program_->time_steps({});
        const double forward = apart.forward / std::max(apart.forward + apart.backward, 1e-9);
        for (Parts& parts : all) {
            parts.forward = forward * parts.micro;
            parts.backward = (1 - forward) * parts.micro;
        }
    }
    void read_sensors() {
        if (sensors_) sensors_->read();
    }
    std::string sensors() const { return sensors_ ? nvml::print(sensors_->summary()) : no_sensors_; }
    const RunData& data() const { return *data_; }
    const TrainingProgram& program() const { return *program_; }

  private:
    void observe() {
        program_->observe([this](const Executor& executor, const PlannedStep& planned) {
            const double now = now_seconds();
            const double ms = 1e3 * (now - last_);
            last_ = now;
            add(executor.plan().graph.node(planned.node).phase, ms);
        });
    }
    void add(Phase phase, double ms) {
        switch (phase) {
            case Phase::kForward:
                parts_->forward += ms;
                break;
            case Phase::kBackward:
                parts_->backward += ms;
                break;
            case Phase::kUpdate:
                break;  // timed as a whole
        }
    }
    void begin(Parts& parts) { parts_ = &parts; }
    void step(const MicroBatch& batch, std::int64_t window_weight, Parts& parts) {
        const double before = last_ = now_seconds();
        started_.push_back(program_->start_micro_step(batch, {window_weight, micro_steps_++}));
        parts.micro += ms_since(before);
        parts.weight += batch.weight;
    }
    void finish(Parts& parts, double start) {
        double before = now_seconds();
        for (const std::int64_t number : started_) program_->micro_step_result(number);
        started_.clear();
        parts.micro += ms_since(before);
        before = now_seconds();
        program_->update_result(program_->start_update());
        parts.update = ms_since(before);
        parts.total = ms_since(start);
    }

    const RunConfig& config_;
    std::unique_ptr<RunData> data_;
    int threads_;
    std::unique_ptr<TrainingProgram> program_;
    std::unique_ptr<BatchFeed> feed_;
    std::unique_ptr<KeptBatch> kept_;
    Parts* parts_ = nullptr;
    double last_ = 0;
    std::unique_ptr<nvml::Sensors> sensors_;  // of a GPU
    std::string no_sensors_;
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

}  // namespace

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
        const Parts kept = run.over_one_batch(), fed = run.over_data();
        if (s < request.warmup) continue;
        one_batch.push_back(kept);
        data.push_back(fed);
        run.read_sensors();
    }
    BenchResult result;
    result.unit = name_of(run.data().unit());
    result.batch = own.config.train.batch_size;
    result.micro_batch = own.config.train.micro_batch();
    run.split(one_batch);
    run.split(data);
    result.series = {series_of("one batch", one_batch), series_of("data", data)};
    result.planned_mib = static_cast<double>(run.program().memory().arena_bytes) / (1 << 20);
    result.seen_mib = resident_mib();  // of the host; a device's arena is all that is taken there
    result.sensors = run.sensors();
    judge(result, {own.config, run.data().description, run.program().device()});
    return result;
}

}  // namespace mpt
