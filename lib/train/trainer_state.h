// The inside of the trainer, shared by its source files: trainer_start.cpp is all that comes before the first
// update, trainer.cpp the loop, trainer_end.cpp how a run ends.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "metrics/meters.h"
#include "train/checkpoint_store.h"
#include "train/evaluator.h"
#include "train/run_log.h"
#include "train/run_setup.h"
#include "train/run_watch.h"
#include "train/trainer.h"

namespace mpt {

// What one update was: sums over its window, the control block after it, and the time it took.
struct Update {
    BatchResult sums;
    StepControl control;
    StreamPosition after;
    std::int64_t epoch = 0;
    double seconds = 0;
    double wait_ms = 0;
    // 0 where nothing counts.
    double loss() const { return sums.weight > 0 ? sums.loss_sum / static_cast<double>(sums.weight) : 0; }
};

// An update on its way: what is known of it before its results are.
struct StartedUpdate {
    Update update;
    std::vector<std::int64_t> micro_steps;  // to ask the program by
    std::int64_t control = 0;
    double begin = 0;
};

// Sums over updates, e.g. since the last row of metrics.jsonl.
struct Interval {
    std::int64_t counted = 0, updates = 0;  // images or tokens
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
    // Data that turns out to be broken must not cost the updates before it: they are saved, and the error
    // says where. Of an update that was under way nothing is in there.
    Error after_saving(const Error& error);

  private:
    bool prepare();
    void open_directory();
    void announce();
    void load_start();
    void keep_meaning();
    void check_end() const;
    bool finished() const;
    StartedUpdate start_update();
    // Waits for the oldest update that is on its way, and records it; for all of them.
    void finish_update();
    void finish_updates();
    bool must_wait() const;
    void record(const Update& update);
    void write_row(const Update& update);
    void report_skip(const Update& update, const std::string& first_nonfinite);
    void warn_of_update(const std::string& text);
    bool is_due(const Duration& every) const;
    // After all updates that are on their way.
    std::int64_t step_ahead() const { return step() + static_cast<std::int64_t>(started_.size()); }
    const StreamPosition& position_ahead() const {
        return started_.empty() ? state_.position : started_.back().update.after;
    }
    bool evaluate_now();
    double candidate(const EvaluationRow& evaluation);
    void save();
    bool must_stop() const { return request_.stop != nullptr && request_.stop->asked() != 0; }
    TrainResult stopped();
    TrainResult finished_before() const;
    TrainResult end(const std::string& how, const std::string& reason);
    SummaryRow summary(const std::string& how, const std::string& reason) const;
    Progress progress(const Update& update) const;
    std::optional<double> bits_per_character(double loss) const;
    double elapsed() const { return elapsed_before_ + (begun_at_ > 0 ? now_seconds() - begun_at_ : 0); }
    std::int64_t step() const { return state_.control.attempted; }

    const TrainRequest& request_;
    const RunConfig& config_;
    RunDirectory directory_;
    Start start_;
    std::string start_line_;  // what the weights start from, when not from their initialisers
    std::unique_ptr<RunData> data_;
    std::unique_ptr<TrainingProgram> program_;
    std::unique_ptr<BleuScorer> bleu_;  // null when not wanted
    std::unique_ptr<BatchFeed> feed_;
    std::unique_ptr<RunLog> log_;
    std::unique_ptr<RunWatch> watch_;
    std::unique_ptr<CheckpointStore> store_;
    TrainingState state_;
    std::deque<StartedUpdate> started_;
    bool update_is_open_ = false;  // its last micro-step has not been started
    bool skipped_lately_ = false;
    double finished_at_ = 0;  // the last update
    RateMeter rate_;
    Interval interval_;
    Interval whole_;  // this process's updates behind the warm-up
    bool warmed_up_ = false;
    bool nothing_left_ = false;
    std::int64_t saved_step_ = -1;
    std::int64_t warnings_shown_ = 0;
    std::optional<double> lowest_loss_;  // of this process's finite ones
    std::string last_checkpoint_;
    double elapsed_before_ = 0;
    double begun_at_ = 0;
};

}  // namespace mpt
