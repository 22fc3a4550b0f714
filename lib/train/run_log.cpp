#include "train/run_log.h"

#include <fmt/core.h>

#include "core/printable.h"
#include "metrics/event_rows.h"

namespace mpt {
namespace {

// As an evaluation's line prints it.
std::string print_score(const std::string& metric, double value) {
    if (metric == "loss") return print_loss(value);
    return metric == "bleu" ? fmt::format("{:.2f}", value) : fmt::format("{:.2f} %", 100 * value);
}

}  // namespace

void RunLog::say(const std::string& text) {
    say_lines(printable(text));
}

void RunLog::say_lines(const std::string& text) {
    console_.line(text);
    file_.info(text);
}

void RunLog::note(const std::string& text) {
    file_.info(printable(text));
}

void RunLog::warn(const std::string& text) {
    console_.line("warning: " + printable(text));
    warn_quietly(text);
}

void RunLog::warn_quietly(const std::string& text) {
    file_.warn(printable(text));
}

void RunLog::error(const std::string& text) {
    file_.error(printable(text));
}

void RunLog::write(const TrainRow& row, const Progress& progress) {
    metrics_.write(to_json(row));
    if (events_) events_->write(row.step, scalars_of(row));
    console_.log_step(progress);
    file_.info(print(progress));
}

void RunLog::write(const EvaluationRow& row) {
    metrics_.write(to_json(row));
    if (events_) events_->write(row.step, scalars_of(row));
    console_.end_bar();
    say(fmt::format("eval  epoch {}  update {}  {}{}{}", row.epoch, row.step, print(row),
                    row.ema ? "  (moving average)" : "", row.improved ? "  best so far" : ""));
}

void RunLog::write(const SummaryRow& row) {
    metrics_.write(to_json(row));
    console_.end_bar();
    const std::string_view unit = name_of(row.unit);
    std::string text = fmt::format("{}: {} updates, {} applied, {} skipped; {} {}/s median, {} mean", row.end,
                                   row.attempted, row.applied, row.skipped, print_rate(row.per_sec_median),
                                   unit, print_rate(row.per_sec_mean));
    if (row.evaluation) text += "; " + print(*row.evaluation);
    say(text);
    if (!row.checkpoint.empty())  // the log has it since it was saved
        console_.line("checkpoint: " + printable(row.checkpoint));
    if (!row.best_checkpoint.empty())
        say(fmt::format("best {}: {} at update {}: {}", row.best_metric,
                        print_score(row.best_metric, row.best.value_or(0)), row.best_step,
                        row.best_checkpoint));
}

}  // namespace mpt
