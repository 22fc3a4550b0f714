// The rows of metrics.jsonl. Every row is one strict JSON object on a line with a `kind`; what is not finite
// is null. Shares (top1, top5) are in 0..1, times in seconds unless the name says ms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mpt {

// What a run counts and is measured in. Of images the rows have top1 and top5, of tokens the perplexity.
enum class Unit : std::uint8_t { kImages, kTokens };
std::string_view name_of(Unit unit);  // images, tokens

// kind "train": one a log step, and one for every skipped update. Loss and top1 are means over the samples
// since the row before; the rest is of this very update.
struct TrainRow {
    Unit unit = Unit::kImages;
    std::int64_t step = 0;   // updates attempted so far, this one included
    std::int64_t epoch = 0;  // from 1
    double loss = 0;
    double top1 = 0;
    std::optional<double> bits_per_character;
    double lr = 0;                // the rate this update used
    double loss_scale = 0;        // the scale this update used
    std::int64_t good_steps = 0;  // clean updates in a row since the scale last changed, after this one
    std::int64_t attempted = 0, applied = 0, skipped = 0;
    double grad_norm = 0;
    double per_sec = 0;       // images or tokens, since the row before
    double data_wait_ms = 0;  // an update, since the row before
    double elapsed = 0;
};

// kind "eval"
struct EvaluationRow {
    Unit unit = Unit::kImages;
    std::int64_t step = 0, epoch = 0;
    double loss = 0;  // a sample, or nats a token
    double top1 = 0, top5 = 0;
    std::optional<double> bits_per_character, bits_per_byte, bleu;
    std::int64_t samples = 0;  // images, or tokens that count
    bool ema = false;          // the weights' moving average was evaluated
    bool improved = false;     // this is the new best
    double elapsed = 0;
};

// kind "summary": the last row of a process, however it ended.
struct SummaryRow {
    Unit unit = Unit::kImages;
    std::string end;  // done, early_stop, stopped, diverged or failed
    std::string reason;
    std::int64_t step = 0, epoch = 0;
    std::int64_t attempted = 0, applied = 0, skipped = 0;
    double per_sec_median = 0, per_sec_mean = 0;  // images or tokens
    std::optional<EvaluationRow> evaluation;      // the last one
    std::string best_metric;
    std::optional<double> best;
    std::int64_t best_step = 0;
    std::string checkpoint, best_checkpoint;  // paths; empty when there is none
    double elapsed = 0;
};

double perplexity_of(double loss);  // exp; infinite when it is

// "loss 0.3456  top1 88.00 %  top5 99.00 %  of 10000 images", "loss 1.8000  perplexity 6.050  2.597
// bits/character  of 111540 tokens".
std::string print(const EvaluationRow& row);

// Without the newline.
std::string to_json(const TrainRow& row);
std::string to_json(const EvaluationRow& row);
std::string to_json(const SummaryRow& row);

}  // namespace mpt
