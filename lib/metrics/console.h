// What the user sees: a progress bar on a terminal, one plain line a log step otherwise. No escape sequence
// is ever written, and a carriage return only for the bar.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "metrics/rows.h"

namespace mpt {

enum class ProgressStyle { kAuto, kBar, kPlain, kQuiet };

// What can be had on `out`, never kAuto. A bar needs a terminal, anything else gets plain lines; kAuto asks
// also for TERM being set and not "dumb".
ProgressStyle possible_style(ProgressStyle wanted, std::FILE* out);

struct Progress {
    Unit unit = Unit::kImages;
    std::int64_t epoch = 0, num_epochs = 0;  // num_epochs 0: unknown
    std::int64_t step = 0, num_steps = 0;
    double loss = 0;
    double top1 = 0;
    std::optional<double> bits_per_character;
    double per_sec = 0;  // images or tokens
    double eta_seconds = 0;
};

// "epoch 1/5  update 10/469  loss 1.2346  top1 45.6 %  1234 images/s  eta 0:12"; of text "loss 1.2346  ppl
// 3.437  1.781 bits/char  20000 tokens/s".
std::string print(const Progress& progress);
// "epoch 1/5 [=====>    ] 10/469 loss ...", narrower than `columns`.
std::string print_bar(const Progress& progress, int columns);
std::string print_loss(double loss);         // four decimals, or a power of ten when it is huge
std::string print_rate(double per_sec);      // whole, with two decimals below 100; "-" when there is none
std::string print_duration(double seconds);  // 0:07, 1:02:03; "-" when it is not finite

class Console {
  public:
    Console(std::FILE* out, ProgressStyle style) : out_(out), style_(style) {}
    ~Console() { end_bar(); }
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    void line(const std::string& text);  // whole lines; a bar on screen is cleared first. Silent when quiet.
    void update(const Progress& progress);    // every update: redraws the bar, at most ten times a second
    void log_step(const Progress& progress);  // every log step: the plain line
    void end_bar();                           // leaves the bar standing and goes to a new line
    ProgressStyle style() const { return style_; }

  private:
    std::FILE* out_;
    ProgressStyle style_;
    std::size_t bar_width_ = 0;  // of the bar now on screen
    double drawn_at_ = -1;
};

}  // namespace mpt
