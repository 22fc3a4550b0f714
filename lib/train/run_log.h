// Where a run says things: console, log.txt and metrics.jsonl in one place.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "metrics/console.h"
#include "metrics/event_file.h"
#include "metrics/json_lines.h"
#include "metrics/log_file.h"
#include "metrics/rows.h"
#include "train/run_directory.h"

namespace mpt {

class RunLog {
  public:
    RunLog(const RunDirectory& directory, ProgressStyle style, std::FILE* out)
        : console_(out, style), file_(directory.log().string()), metrics_(directory.metrics().string()) {}

    // From now on rows go to TensorBoard's event files in `folder`, too.
    void open_events(const std::string& folder, std::int64_t first_step) {
        events_ = std::make_unique<EventFile>(folder, first_step);
    }

    // Names of others are written out so that each of these is one line.
    void say(const std::string& text);        // console and log
    void say_lines(const std::string& text);  // the same of several lines
    void note(const std::string& text);       // log only
    void warn(const std::string& text);       // both
    void warn_quietly(const std::string& text);
    void error(const std::string& text);  // the caller prints it on stderr

    void write(const TrainRow& row, const Progress& progress);
    void write(const EvaluationRow& row);
    void write(const SummaryRow& row);
    void update(const Progress& progress) { console_.update(progress); }
    void end_bar() { console_.end_bar(); }

  private:
    Console console_;
    LogFile file_;
    JsonLines metrics_;
    std::unique_ptr<EventFile> events_;  // none unless asked for
};

}  // namespace mpt
