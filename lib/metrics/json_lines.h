// metrics.jsonl: each row is written by one system call, so that a killed run leaves at most one torn line.
#pragma once

#include <cstdint>
#include <string>

namespace mpt {

class JsonLines {
  public:
    explicit JsonLines(const std::string& path);  // appends; throws Error(kResource)
    ~JsonLines();
    JsonLines(const JsonLines&) = delete;
    JsonLines& operator=(const JsonLines&) = delete;
    void write(std::string line);  // adds the newline; throws Error(kResource) when the disk is full

  private:
    std::string path_;
    int file_ = -1;
};

// Which rows a run that stood at update `step` goes on from.
struct RowsToKeep {
    std::int64_t step = 0;
    bool interval_open = false;   // a row at `step` was only written because the run ended there
    bool evaluation_due = false;  // an evaluation at `step` is still to come
};
// For a resume: the lines of `text` that stay, in order. Later rows, summaries of earlier processes and torn
// lines are left out.
std::string rows_to_keep(const std::string& text, const RowsToKeep& keep);

}  // namespace mpt
