#include "train/trainer.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <memory>

#include "config/read.h"
#include "core/error.h"
#include "metrics/meters.h"
#include "train/checkpoint_store.h"
#include "train/divergence.h"
#include "train/durable_file.h"
#include "train/evaluator.h"
#include "train/run_log.h"
#include "train/run_setup.h"

namespace mpt {
namespace {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressStyle wanted_style(ConsoleStyle style) {
    switch (style) {
        case ConsoleStyle::kBar:
            return ProgressStyle::kBar;
        case ConsoleStyle::kPlain:
            return ProgressStyle::kPlain;
        case ConsoleStyle::kQuiet:
            return ProgressStyle::kQuiet;
        case ConsoleStyle::kAuto:
            break;
    }
    return ProgressStyle::kAuto;
}

// What one update was: sums over its window, the control block after it, and the time it took.
struct Update {
    BatchResult sums;
    StepControl control;
    StreamPosition after;
    std::int64_t epoch = 0;
    double seconds = 0;
    double wait_ms = 0;
    double loss() const { return sums.loss_sum / static_cast<double>(sums.samples); }
};

// Since the last row of metrics.jsonl.
struct Interval {
    std::int64_t images = 0, updates = 0;
    double seconds = 0, wait_ms = 0;
};

class Trainer {
  public:
    explicit Trainer(const TrainRequest& request)
        : request_(request),
          config_(request.config),
          directory_(config_.output_dir),
          rate_(config_.train.warmup_steps) {}
    TrainResult run();
    void record_failure(const Error& error);

  private:
    bool prepare();
    void open_directory();
    void announce();
    void load_start();
    void check_end() const;
    bool finished() const;
    Update train_one_update();
    void record(const Update& update);
    void write_row(const Update& update);
    void report_skip(const Update& update);
    void warn_of_update(const std::string& text);
    bool is_due(const Duration& every) const;
    bool evaluate_now();
    double candidate(const Evaluation& evaluation);
    void save();
    bool must_stop() const { return request_.stop != nullptr && request_.stop->asked() != 0; }
    TrainResult stopped();
    TrainResult finished_before() const;
    TrainResult end(const std::string& how, const std::string& reason);
    SummaryRow summary(const std::string& how, const std::string& reason) const;
    Progress progress(const Update& update) const;
    double elapsed() const { return elapsed_before_ + (begun_at_ > 0 ? now_seconds() - begun_at_ : 0); }
    std::int64_t step() const { return state_.control.attempted; }

    const TrainRequest& request_;
    const RunConfig& config_;
    RunDirectory directory_;
    Start start_;
    std::string start_line_;  // what the weights start from, when not from their initialisers
    RunData data_;
    std::unique_ptr<TrainingProgram> program_;
    std::unique_ptr<BatchStream> stream_;
    std::unique_ptr<RunLog> log_;
    std::unique_ptr<CheckpointStore> store_;
    TrainingState state_;
    RateMeter rate_;
    Interval interval_;
    bool nothing_left_ = false;
    std::int64_t saved_step_ = -1;
    std::int64_t warnings_shown_ = 0;
    std::string last_checkpoint_;
    double elapsed_before_ = 0;
    double begun_at_ = 0;
};

TrainResult Trainer::run() {
    if (!prepare()) return stopped();
    if (nothing_left_) return finished_before();
    begun_at_ = now_seconds();
    if (state_.evaluation_due && evaluate_now()) save();
    while (!finished()) {
        if (must_stop()) return stopped();
        const Update update = train_one_update();
        record(update);
        const bool last = finished();
        const bool improved = (last || is_due(config_.train.eval_every)) && evaluate_now();
        if (improved || last || is_due(config_.checkpoint.every)) save();
        if (config_.train.early_stop > 0 && state_.best.rounds_since >= config_.train.early_stop) {
            save();
            return end("early_stop",
                       fmt::format("{} evaluations without improvement", state_.best.rounds_since));
        }
    }
    if (must_stop()) return stopped();
    check_end();
    return end("done", "");
}

// A run too short for the divergence rule must not end as if all were well.
void Trainer::check_end() const {
    const std::string tensor = first_nonfinite(store_of(*program_));
    if (state_.nonfinite_losses == 0 && tensor.empty()) return;
    throw Error(
        ExitCode::kDivergence,
        fmt::format("training diverged: the run ended at update {} with {}; last finite loss {}; try a lower "
                    "optimizer.lr, a warm-up or optimizer.clip_norm",
                    step(), tensor.empty() ? "a loss that is not finite" : tensor + " not finite",
                    state_.last_finite_loss ? fmt::format("{:.6g}", *state_.last_finite_loss) : "none"));
}

// Everything that can be refused is refused before the directory is touched. Returns false when asked to
// stop.
bool Trainer::prepare() {
    check_supported(config_);
    start_ = find_start(directory_, request_.resume, request_.existing);
    data_ = open_data(config_);
    if (must_stop()) return false;
    const StreamPosition position = start_.checkpoint ? start_.checkpoint->state.position : StreamPosition{};
    program_ = std::make_unique<TrainingProgram>(config_, data_.description, num_threads(config_));
    if (must_stop()) return false;
    expect_batches(*program_, config_, data_, position);
    program_->check_fits(memory_limit(config_));
    stream_ = std::make_unique<BatchStream>(*data_.train, training_stream(config_, position));
    program_->allocate();
    program_->initialize(config_.seed);
    load_start();
    nothing_left_ = start_.continues && finished() && !state_.evaluation_due;
    if (nothing_left_) return true;  // the finished run's files stay as they are
    open_directory();
    announce();
    return true;
}

void Trainer::open_directory() {
    directory_.lock();
    const bool continues = start_.continues;
    if (!continues) directory_.remove_run();
    std::string id = continues ? start_.checkpoint->head.run_id : new_run_id();
    if (continues && std::filesystem::exists(directory_.metrics())) {
        const TrainingState& at = start_.checkpoint->state;
        const RowsToKeep keep = {at.control.attempted, at.loss.count > 0, at.evaluation_due};
        replace_file(directory_.metrics(), rows_to_keep(read_text_file(directory_.metrics()), keep));
    }
    directory_.write_run_id(id);
    replace_file(directory_.config(), request_.resolved);
    log_ = std::make_unique<RunLog>(
        directory_, possible_style(wanted_style(config_.log.console), request_.console), request_.console);
    store_ =
        std::make_unique<CheckpointStore>(directory_.checkpoints(), std::move(id), config_.checkpoint.keep);
    if (const int leftovers = store_->clean_up(); leftovers > 0)
        log_->note(fmt::format("removed {} leftovers of an interrupted checkpoint", leftovers));
}

void Trainer::announce() {
    for (const std::string& warning : request_.warnings) log_->warn(warning);
    for (const std::string& warning : data_.warnings) log_->warn(warning);
    for (const std::string& warning : warnings_for(config_, data_.description.updates_per_epoch))
        log_->warn(warning);
    for (const std::string& notice : start_.notices) log_->warn(notice);
    const DataDescription& d = data_.description;
    log_->say(fmt::format("run {} in {}", config_.name, directory_.path().string()));
    log_->say(fmt::format("data: {} training and {} test images of {}x{}x{}, {} classes, {}",
                          data_.train->num_samples(), data_.test->num_samples(), d.height, d.width,
                          d.channels, d.num_classes, data_.train->info().origin));
    log_->say(fmt::format("{} updates an epoch, {} in all, batch {} in {} micro-steps, {} threads",
                          d.updates_per_epoch, d.total_updates, config_.train.batch_size,
                          config_.train.accumulate, num_threads(config_)));
    log_->say(program_->precision_summary());
    log_->say(program_->decay_summary());
    const std::string memory = print(program_->memory());
    log_->say(memory.substr(0, memory.find_last_not_of('\n') + 1));
    if (config_.debug.dump_graph) {
        replace_file(directory_.graph(), program_->graph_text());
        replace_file(directory_.plan(), program_->plan_text());
        log_->say("graphs and plan: " + directory_.graph().string() + ", " + directory_.plan().string());
    }
    if (!start_line_.empty()) log_->say(start_line_);
}

void Trainer::load_start() {
    state_.seed = config_.seed;
    state_.num_samples = data_.train->num_samples();
    state_.class_names = data_.train->info().class_names;
    if (!start_.checkpoint) {
        state_.control = program_->control();
        if (!config_.checkpoint.init_from.empty()) start_line_ = load_initial_weights(*program_, config_);
        return;
    }
    state_ = restore(*program_, *start_.checkpoint, config_, state_.num_samples, &start_.notices);
    state_.class_names = data_.train->info().class_names;
    elapsed_before_ = state_.elapsed;
    last_checkpoint_ = start_.checkpoint->head.path.string();
    if (start_.continues) saved_step_ = step();
    start_line_ = fmt::format("resumed from {} at update {}", last_checkpoint_, step());
}

bool Trainer::finished() const {
    if (config_.train.steps) return step() >= *config_.train.steps;
    return state_.position.epoch >= config_.train.epochs.value_or(1);
}

Update Trainer::train_one_update() {
    Update update;
    const double begin = now_seconds();
    for (bool more = true; more;) {
        const NextBatch next = stream_->next();
        MPT_CHECK(next.batch != nullptr, "the data ended before the run");
        const Batch& batch = *next.batch;
        const auto bytes = static_cast<std::size_t>(batch.count * data_.train->geometry().bytes());
        const BatchResult sums =
            program_->run_micro_step(batch.images.bytes().first(bytes), batch.labels, batch.window_samples);
        update.sums.loss_sum += sums.loss_sum;
        update.sums.hits1 += sums.hits1;
        update.sums.samples += sums.samples;
        update.wait_ms += next.wait_ms;
        update.after = batch.after();
        update.epoch = batch.epoch + 1;
        more = batch.micro_index + 1 < batch.num_micro;
        ++state_.micro_steps;
    }
    update.control = program_->run_update();
    update.seconds = now_seconds() - begin;
    return update;
}

void Trainer::record(const Update& update) {
    const std::int64_t samples = data_.train->num_samples();
    state_.control = update.control;
    state_.position = update.after;
    if (num_windows(samples, batching_of(config_), state_.position.offset) == 0)
        state_.position = {update.after.epoch + 1, 0};
    state_.loss.add(update.sums.loss_sum, update.sums.samples);
    state_.top1.add(static_cast<double>(update.sums.hits1), update.sums.samples);
    state_.evaluation_due = false;
    if (std::isfinite(update.loss())) {
        state_.last_finite_loss = update.loss();
        state_.nonfinite_losses = 0;
    } else {
        ++state_.nonfinite_losses;
    }
    rate_.add(update.sums.samples, update.seconds);
    interval_.images += update.sums.samples;
    interval_.seconds += update.seconds;
    interval_.wait_ms += update.wait_ms;
    ++interval_.updates;

    log_->update(progress(update));
    const bool skipped = update.control.skip != 0;
    if (skipped || !std::isfinite(update.loss())) report_skip(update);
    if (skipped || step() % config_.train.log_every == 0 || finished()) write_row(update);
    const std::string fault = divergence(update.control, {state_.nonfinite_losses, state_.last_finite_loss},
                                         config_.train.max_nonfinite);
    if (fault.empty()) return;
    if (const std::string where = program_->first_nonfinite(); !where.empty())
        log_->error("first non-finite values: " + where);
    throw Error(ExitCode::kDivergence, fault);
}

// The row that only the end of the run asked for leaves the interval open: a run that goes on later, straight
// or resumed, has the same rows.
void Trainer::write_row(const Update& update) {
    TrainRow row;
    row.step = step();
    row.epoch = update.epoch;
    row.loss = state_.loss.mean();
    row.top1 = state_.top1.mean();
    row.lr = update.control.learning_rate;
    row.loss_scale = static_cast<double>(update.control.used_loss_scale);
    row.good_steps = update.control.growth_counter;
    row.attempted = update.control.attempted;
    row.applied = update.control.applied;
    row.skipped = update.control.skipped;
    row.grad_norm = update.control.gradient_norm;
    row.images_per_sec = static_cast<double>(interval_.images) / interval_.seconds;
    row.data_wait_ms = interval_.wait_ms / static_cast<double>(interval_.updates);
    row.elapsed = elapsed();
    log_->write(row, progress(update));
    interval_ = {};
    if (update.control.skip == 0 && step() % config_.train.log_every != 0) return;
    state_.loss = {};
    state_.top1 = {};
}

void Trainer::report_skip(const Update& update) {
    const StepControl& c = update.control;
    std::string text = c.skip != 0 ? fmt::format("update {} skipped: its gradients are not finite", step())
                                   : fmt::format("update {}: its loss is not finite", step());
    text += fmt::format("; loss {:.6g}, loss scale {}, {} skipped in a row, {} in all", update.loss(),
                        c.used_loss_scale, c.consecutive_nonfinite, c.skipped);
    warn_of_update(text);
}

// Every one goes to the log; the console shows the first few.
void Trainer::warn_of_update(const std::string& text) {
    constexpr std::int64_t kShown = 5;
    if (warnings_shown_++ < kShown)
        log_->warn(text);
    else
        log_->warn_quietly(text);
}

bool Trainer::is_due(const Duration& every) const {
    if (every.amount <= 0) return false;
    const bool whole_epochs = every.unit == DurationUnit::kEpochs && every.amount == std::floor(every.amount);
    if (whole_epochs)
        return state_.position.offset == 0 &&
               state_.position.epoch % static_cast<std::int64_t>(every.amount) == 0;
    return step() % updates_in(every, data_.description.updates_per_epoch) == 0;
}

// Returns whether this is the best so far. When a signal cuts it short, it is made up for after a resume.
bool Trainer::evaluate_now() {
    StreamOptions stream = training_stream(config_, {});
    stream = evaluation_stream(evaluation_batch(config_), stream.workers, stream.prefetch);
    const std::optional<Evaluation> evaluation =
        evaluate(*program_, *data_.test, stream, WeightsToUse::kAverageIfThere, request_.stop);
    state_.evaluation_due = !evaluation.has_value();
    if (!evaluation) return false;
    EvaluationRow row;
    row.step = step();
    row.epoch = state_.position.offset == 0 ? state_.position.epoch : state_.position.epoch + 1;
    row.loss = evaluation->loss;
    row.top1 = evaluation->top1;
    row.top5 = evaluation->top5;
    row.samples = evaluation->samples;
    row.ema = evaluation->ema;
    row.elapsed = elapsed();
    if (config_.checkpoint.best != BestMetric::kOff) {
        const Better better = config_.checkpoint.best == BestMetric::kLoss ? Better::kLower : Better::kHigher;
        row.improved = state_.best.offer(candidate(*evaluation), step(), better);
    }
    state_.evaluation = row;
    log_->write(row);
    if (!std::isfinite(row.loss)) log_->warn("the evaluation's loss is not finite: no improvement");
    return row.improved;
}

// NaN for what must never be the best: a non-finite loss, or weights that cannot be saved.
double Trainer::candidate(const Evaluation& evaluation) {
    if (!std::isfinite(evaluation.loss) || !first_nonfinite(store_of(*program_)).empty())
        return std::numeric_limits<double>::quiet_NaN();
    switch (config_.checkpoint.best) {
        case BestMetric::kTop1:
            return evaluation.top1;
        case BestMetric::kTop5:
            return evaluation.top5;
        case BestMetric::kLoss:
        case BestMetric::kOff:
            break;
    }
    return evaluation.loss;
}

void Trainer::save() {
    if (saved_step_ == step() && state_.best.step != step()) return;
    const StoreView store = store_of(*program_);
    if (const std::string tensor = first_nonfinite(store); !tensor.empty()) {
        warn_of_update(fmt::format("no checkpoint at update {}: {} is not finite", step(), tensor));
        return;
    }
    state_.elapsed = elapsed();
    last_checkpoint_ = store_->save(state_, store, request_.resolved).string();
    saved_step_ = step();
    log_->note("checkpoint: " + last_checkpoint_);
}

TrainResult Trainer::finished_before() const {
    TrainResult result;
    result.message =
        fmt::format("{}: finished already at update {}; a larger train.epochs or train.steps goes on",
                    directory_.path().string(), step());
    return result;
}

TrainResult Trainer::stopped() {
    TrainResult result;
    result.signal = request_.stop->asked();
    const char* name = result.signal == SIGTERM ? "SIGTERM" : "SIGINT";
    if (!log_) {
        result.message = fmt::format("stopped by {} before the first update", name);
        return result;
    }
    if (step() > 0 && (saved_step_ != step() || state_.evaluation_due)) save();
    result.message =
        step() == 0
            ? fmt::format("stopped by {} before the first update", name)
            : fmt::format(
                  "stopped by {} after update {}; checkpoint {}; go on with: mpt-train --config {} --resume",
                  name, step(), last_checkpoint_.empty() ? "none" : last_checkpoint_,
                  directory_.config().string());
    result.summary = end("stopped", name).summary;
    return result;
}

TrainResult Trainer::end(const std::string& how, const std::string& reason) {
    TrainResult result;
    result.summary = summary(how, reason);
    log_->write(result.summary);
    return result;
}

SummaryRow Trainer::summary(const std::string& how, const std::string& reason) const {
    SummaryRow row;
    row.end = how;
    row.reason = reason;
    row.step = step();
    row.epoch = state_.position.offset == 0 ? state_.position.epoch : state_.position.epoch + 1;
    row.attempted = state_.control.attempted;
    row.applied = state_.control.applied;
    row.skipped = state_.control.skipped;
    row.images_per_sec_median = rate_.median();
    row.images_per_sec_mean = rate_.mean();
    row.evaluation = state_.evaluation;
    row.best_metric = name_of(config_.checkpoint.best);
    row.best = state_.best.value;
    row.best_step = state_.best.step;
    row.checkpoint = last_checkpoint_;
    if (row.best && std::filesystem::exists(store_->path_of(row.best_step)))  // not when the disk was full
        row.best_checkpoint = store_->path_of(row.best_step).string();
    row.elapsed = elapsed();
    return row;
}

Progress Trainer::progress(const Update& update) const {
    Progress progress;
    progress.epoch = update.epoch;
    progress.num_epochs = config_.train.epochs.value_or(0);
    progress.step = step();
    progress.num_steps = data_.description.total_updates;
    const bool open = state_.loss.count > 0;
    progress.loss = open ? state_.loss.mean() : update.loss();
    progress.top1 = open ? state_.top1.mean()
                         : static_cast<double>(update.sums.hits1) / static_cast<double>(update.sums.samples);
    progress.images_per_sec = static_cast<double>(interval_.images) / interval_.seconds;
    const double left = static_cast<double>(progress.num_steps - progress.step);
    progress.eta_seconds = left * static_cast<double>(config_.train.batch_size) / rate_.mean();
    return progress;
}

void Trainer::record_failure(const Error& error) {
    if (!log_) return;
    try {
        log_->end_bar();
        log_->error(error.what());
        log_->write(summary(error.code() == ExitCode::kDivergence ? "diverged" : "failed", error.what()));
    } catch (const Error&) {  // the disk is full: the first error says so
    }
}

}  // namespace

TrainResult train(const TrainRequest& request) {
    Trainer trainer(request);
    try {
        return trainer.run();
    } catch (const Error& error) {
        trainer.record_failure(error);
        throw;
    }
}

}  // namespace mpt
