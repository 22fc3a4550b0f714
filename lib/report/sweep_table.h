// Results of a sweep: one row a combination, as JSON lines while it runs, as CSV, JSON, Markdown and SVG at
// its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/sweep_grid.h"

namespace mpt {

enum class SweepStatus { kOk, kOutOfMemory, kFailed };
std::string_view name_of(SweepStatus status);

struct SweepRow {
    std::size_t index = 0;
    SweepPoint point;
    SweepStatus status = SweepStatus::kOk;
    std::string reason;  // why not ok, one line
    std::string unit;    // images or tokens
    std::optional<double> per_second, loss, top1, perplexity, bleu;
    std::int64_t skipped = 0;
    double peak_mib = 0;  // of the child process
    double seconds = 0;
    std::string folder;
};

// What the rows are compared by: throughput (higher), loss or perplexity (lower), top1 or bleu (higher).
enum class SweepMetric { kThroughput, kLoss, kTop1, kPerplexity, kBleu };
SweepMetric sweep_metric(const std::string& word);  // throws Error(kUsage)
// Index into rows of the best ok one; none when there is none.
std::optional<std::size_t> best_row(const std::vector<SweepRow>& rows, SweepMetric metric);

std::string to_json(const SweepRow& row);          // one line
SweepRow sweep_row(const std::string& json_line);  // throws std::exception on a torn line

std::string csv(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows);
std::string json(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows, SweepMetric metric);
std::string markdown(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows,
                     SweepMetric metric);
// The metric over the first axis, a line for each combination of the others.
std::string plot(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows, SweepMetric metric);

// Of an axis of numbers, e.g. train.batch_size: the largest value with an ok row; empty when the axis does
// not hold numbers.
std::string largest_fitting(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows);

}  // namespace mpt
