// How a run ends: done, stopped by a signal, or failed; each with its summary row.
#include <fmt/core.h>

#include <csignal>
#include <string_view>

#include "core/error.h"
#include "train/trainer_state.h"

namespace mpt {
namespace {

// Empty unless training waited for its data.
std::string loader_sentence(const Interval& sums, const RunConfig& config, std::string_view what) {
    constexpr double kWorthSaying = 0.1;  // of the time
    const double waited = sums.wait_ms / 1000;
    if (sums.updates < 5 || waited < kWorthSaying * sums.seconds) return "";
    const auto counted = static_cast<double>(sums.counted);
    return fmt::format(
        "the loader was the bottleneck: training waited {:.0f} % of its time for data; it got {:.1f} {}/s, "
        "{:.1f} "
        "were needed; raise data.workers ({}), or make the data cheaper (mpt-train pack --resize)",
        100 * waited / sums.seconds, counted / sums.seconds, what, counted / (sums.seconds - waited),
        config.data.workers);
}

}  // namespace

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
    log_->note(result.message);  // the caller says it
    return result;
}

TrainResult Trainer::end(const std::string& how, const std::string& reason) {
    TrainResult result;
    if (watch_) watch_->end();
    result.summary = summary(how, reason);
    if (data_->unit() == Unit::kImages)
        if (const std::string text = loader_sentence(whole_, config_, "images"); !text.empty())
            log_->warn(text);
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
    row.unit = data_->unit();
    row.per_sec_median = rate_.median();
    row.per_sec_mean = rate_.mean();
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

Error Trainer::after_saving(const Error& error) {
    if (error.code() != ExitCode::kData || !log_) return error;
    try {
        finish_updates();
        if (step() == 0) return error;
        if (update_is_open_ && config_.train.accumulate > 1) program_->put_back_running_state();
        if (saved_step_ != step() || state_.evaluation_due) save();
    } catch (const Error&) {  // the first error is what matters
        return error;
    }
    if (saved_step_ != step()) return error;
    return Error(error.code(), fmt::format("{}; {} holds all {} updates: --resume goes on from it (within an "
                                           "epoch only with the same files)",
                                           error.what(), last_checkpoint_, step()));
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

}  // namespace mpt
