// The rows of metrics.jsonl. Every row is one strict JSON object on a line with a `kind`; what is not finite
// is null. Shares (top1, top5) are in 0..1, times in seconds unless the name says ms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mpt {

// kind "train": one a log step, and one for every skipped update. Loss and top1 are means over the samples
// since the row before; the rest is of this very update.
struct TrainRow {
    std::int64_t step = 0;   // updates attempted so far, this one included
    std::int64_t epoch = 0;  // from 1
    double loss = 0;
    double top1 = 0;
    double lr = 0;                // the rate this update used
    double loss_scale = 0;        // the scale this update used
    std::int64_t good_steps = 0;  // clean updates in a row since the scale last changed, after this one
    std::int64_t attempted = 0, applied = 0, skipped = 0;
    double grad_norm = 0;
    double images_per_sec = 0;  // since the row before
    double data_wait_ms = 0;    // an update, since the row before
    double elapsed = 0;
};

// kind "eval"
struct EvaluationRow {
    std::int64_t step = 0, epoch = 0;
    double loss = 0, top1 = 0, top5 = 0;
    std::int64_t samples = 0;
    bool ema = false;       // the weights' moving average was evaluated
    bool improved = false;  // this is the new best
    double elapsed = 0;
};

// kind "summary": the last row of a process, however it ended.
struct SummaryRow {
    std::string end;  // done, early_stop, stopped, diverged or failed
    std::string reason;
    std::int64_t step = 0, epoch = 0;
    std::int64_t attempted = 0, applied = 0, skipped = 0;
    double images_per_sec_median = 0, images_per_sec_mean = 0;
    std::optional<EvaluationRow> evaluation;  // the last one
    std::string best_metric;
    std::optional<double> best;
    std::int64_t best_step = 0;
    std::string checkpoint, best_checkpoint;  // paths; empty when there is none
    double elapsed = 0;
};

// Without the newline.
std::string to_json(const TrainRow& row);
std::string to_json(const EvaluationRow& row);
std::string to_json(const SummaryRow& row);

}  // namespace mpt
