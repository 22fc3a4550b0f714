#include "train/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.h"
#include "train/divergence.h"
#include "train/trainer_state.h"

namespace mpt {

TrainResult Trainer::run() {
    if (!prepare()) return stopped();
    if (nothing_left_) return finished_before();
    begun_at_ = now_seconds();
    if (state_.evaluation_due && evaluate_now()) save();
    while (!finished()) {
        if (must_stop()) {
            finish_updates();
            return stopped();
        }
        started_.push_back(start_update());
        if (!must_wait()) {
            if (started_.size() > 1) finish_update();
            continue;
        }
        finish_updates();
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
    const LossHistory losses = {state_.nonfinite_losses, state_.last_finite_loss, lowest_loss_};
    const NonFinitePlace first = program_->first_nonfinite_place(state_.control.used_loss_scale);
    throw Error(
        ExitCode::kDivergence,
        fmt::format("training diverged: the run ended at update {} with {}; last finite loss {}; {}", step(),
                    tensor.empty() ? "a loss that is not finite" : tensor + " not finite",
                    state_.last_finite_loss ? fmt::format("{:.6g}", *state_.last_finite_loss) : "none",
                    print(divergence_cause(losses, first), state_.control, losses, first)));
}

bool Trainer::finished() const {
    if (config_.train.steps) return step_ahead() >= *config_.train.steps;
    return position_ahead().epoch >= config_.train.epochs.value_or(1);
}

// A device is given one update more than is known of, so that it never waits for the host; not across what
// the host does between updates, nor where a look at the update's last batch may be called for.
bool Trainer::must_wait() const {
    return !program_->runs_late() || watch_->is_looking() || skipped_lately_ || finished() ||
           is_due(config_.train.eval_every) || is_due(config_.checkpoint.every);
}

StartedUpdate Trainer::start_update() {
    StartedUpdate started;
    Update& update = started.update;
    started.begin = now_seconds();
    watch_->begin_update(step_ahead() + 1);
    if (config_.train.accumulate > 1) program_->keep_running_state();
    update_is_open_ = true;
    for (bool more = true; more;) {
        const FeedItem item = feed_->next();
        MPT_CHECK(item.batch != nullptr, "the data ended before the run");
        const std::int64_t micro_step =
            state_.micro_steps + static_cast<std::int64_t>(started.micro_steps.size());
        started.micro_steps.push_back(
            program_->start_micro_step(*item.batch, {item.window_weight, micro_step}));
        update.wait_ms += item.wait_ms;
        update.after = item.after;
        update.epoch = item.epoch + 1;
        more = !item.ends_update();
        watch_->after_micro_step(item.micro_index, !program_->known_nonfinite(started.micro_steps.back()),
                                 !more);
    }
    state_.micro_steps += static_cast<std::int64_t>(started.micro_steps.size());
    started.control = program_->start_update();
    update_is_open_ = false;
    watch_->after_update();
    return started;
}

void Trainer::finish_update() {
    StartedUpdate started = std::move(started_.front());
    started_.pop_front();
    Update& update = started.update;
    for (const std::int64_t number : started.micro_steps) {
        const BatchResult sums = program_->micro_step_result(number);
        update.sums.loss_sum += sums.loss_sum;
        update.sums.hits1 += sums.hits1;
        update.sums.weight += sums.weight;
    }
    update.control = program_->update_result(started.control);
    const double now = now_seconds();
    update.seconds = now - std::max(started.begin, finished_at_);
    finished_at_ = now;
    record(update);
}

void Trainer::finish_updates() {
    while (!started_.empty()) finish_update();
}

void Trainer::record(const Update& update) {
    state_.control = update.control;
    state_.position = update.after;
    state_.loss.add(update.sums.loss_sum, update.sums.weight);
    state_.top1.add(static_cast<double>(update.sums.hits1), update.sums.weight);
    state_.evaluation_due = false;
    if (std::isfinite(update.loss())) {
        state_.last_finite_loss = update.loss();
        state_.nonfinite_losses = 0;
        lowest_loss_ = std::min(update.loss(), lowest_loss_.value_or(update.loss()));
    } else {
        ++state_.nonfinite_losses;
    }
    rate_.add(update.sums.weight, update.seconds);
    for (Interval* sums : {&interval_, &whole_}) {
        sums->counted += update.sums.weight;
        sums->seconds += update.seconds;
        sums->wait_ms += update.wait_ms;
        ++sums->updates;
    }
    if (whole_.updates == config_.train.warmup_steps && !warmed_up_) {
        whole_ = {};
        warmed_up_ = true;
    }

    log_->update(progress(update));
    const bool skipped = update.control.skip != 0;
    skipped_lately_ = skipped || !std::isfinite(update.loss());
    // The batch of an update that others have followed is gone.
    if (skipped_lately_)
        report_skip(update, started_.empty() ? watch_->first_nonfinite(update.control) : std::string());
    const bool last = started_.empty() && finished();
    if (skipped || step() % config_.train.log_every == 0 || last) write_row(update);
    const LossHistory losses = {state_.nonfinite_losses, state_.last_finite_loss, lowest_loss_};
    const std::string fault = divergence(update.control, losses, config_.train.max_nonfinite);
    if (fault.empty()) return;
    const NonFinitePlace first = program_->first_nonfinite_place(update.control.used_loss_scale);
    throw Error(ExitCode::kDivergence,
                fault + "; " + print(divergence_cause(losses, first), update.control, losses, first));
}

// The row that only the end of the run asked for leaves the interval open: a run that goes on later, straight
// or resumed, has the same rows.
void Trainer::write_row(const Update& update) {
    TrainRow row;
    row.unit = data_->unit();
    row.step = step();
    row.epoch = update.epoch;
    row.loss = state_.loss.mean();
    row.top1 = state_.top1.mean();
    row.bits_per_character = bits_per_character(row.loss);
    row.lr = update.control.learning_rate;
    row.loss_scale = static_cast<double>(update.control.used_loss_scale);
    row.good_steps = update.control.growth_counter;
    row.attempted = update.control.attempted;
    row.applied = update.control.applied;
    row.skipped = update.control.skipped;
    row.grad_norm = update.control.gradient_norm;
    row.per_sec = static_cast<double>(interval_.counted) / interval_.seconds;
    row.data_wait_ms = interval_.wait_ms / static_cast<double>(interval_.updates);
    row.elapsed = elapsed();
    log_->write(row, progress(update));
    interval_ = {};
    if (update.control.skip == 0 && step() % config_.train.log_every != 0) return;
    state_.loss = {};
    state_.top1 = {};
}

// Only where what a target stands for is known.
std::optional<double> Trainer::bits_per_character(double loss) const {
    const double characters = data_->characters_per_target();
    if (characters <= 0) return std::nullopt;
    return loss / std::numbers::ln2 / characters;
}

void Trainer::report_skip(const Update& update, const std::string& first_nonfinite) {
    const StepControl& c = update.control;
    std::string text = c.skip != 0 ? fmt::format("update {} skipped: its gradients are not finite", step())
                                   : fmt::format("update {}: its loss is not finite", step());
    text += fmt::format("; loss {:.6g}, loss scale {}, {} skipped in a row, {} in all", update.loss(),
                        c.used_loss_scale, c.consecutive_nonfinite, c.skipped);
    if (!first_nonfinite.empty()) text += "; first not finite: " + first_nonfinite;
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
        return position_ahead().offset == 0 &&
               position_ahead().epoch % static_cast<std::int64_t>(every.amount) == 0;
    return step_ahead() % updates_in(every, data_->description.updates_per_epoch) == 0;
}

// Returns whether this is the best so far. When a signal cuts it short, it is made up for after a resume.
bool Trainer::evaluate_now() {
    state_.evaluation_due = true;  // until it is made, also where broken data ends it
    std::optional<EvaluationRow> evaluation =
        evaluate(*program_, *data_, WeightsToUse::kAverageIfThere, request_.stop, bleu_.get());
    state_.evaluation_due = !evaluation.has_value();
    if (!evaluation) return false;
    EvaluationRow& row = *evaluation;
    row.step = step();
    row.epoch = state_.position.offset == 0 ? state_.position.epoch : state_.position.epoch + 1;
    row.elapsed = elapsed();
    if (config_.checkpoint.best != BestMetric::kOff) {
        const Better better = config_.checkpoint.best == BestMetric::kLoss ? Better::kLower : Better::kHigher;
        row.improved = state_.best.offer(candidate(row), step(), better, row.loss);
    }
    state_.evaluation = row;
    log_->write(row);
    if (!std::isfinite(row.loss)) log_->warn("the evaluation's loss is not finite: no improvement");
    return row.improved;
}

// NaN for what must never be the best: a non-finite loss, or weights that cannot be saved.
double Trainer::candidate(const EvaluationRow& evaluation) {
    if (!std::isfinite(evaluation.loss) || !first_nonfinite(store_of(*program_)).empty())
        return std::numeric_limits<double>::quiet_NaN();
    switch (config_.checkpoint.best) {
        case BestMetric::kTop1:
            return evaluation.top1;
        case BestMetric::kTop5:
            return evaluation.top5;
        case BestMetric::kBleu:
            return evaluation.bleu.value_or(std::numeric_limits<double>::quiet_NaN());
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

Progress Trainer::progress(const Update& update) const {
    Progress progress;
    progress.unit = data_->unit();
    progress.epoch = update.epoch;
    progress.num_epochs = config_.train.epochs.value_or(0);
    progress.step = step();
    progress.num_steps = data_->description.total_updates;
    const bool open = state_.loss.count > 0;
    progress.loss = open ? state_.loss.mean() : update.loss();
    progress.top1 = open ? state_.top1.mean()
                         : static_cast<double>(update.sums.hits1) / static_cast<double>(update.sums.weight);
    progress.bits_per_character = bits_per_character(progress.loss);
    progress.per_sec = static_cast<double>(interval_.counted) / interval_.seconds;
    const double left = static_cast<double>(progress.num_steps - progress.step);
    progress.eta_seconds = left * rate_.seconds_per_update();
    return progress;
}

TrainResult train(const TrainRequest& request) {
    Trainer trainer(request);
    try {
        return trainer.run();
    } catch (const Error& error) {
        const Error told = trainer.after_saving(error);
        trainer.record_failure(told);
        throw told;
    }
}

}  // namespace mpt
