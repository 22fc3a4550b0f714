#include "metrics/console.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "core/clock.h"
#include "core/printable.h"

namespace mpt {
namespace {

int columns_of(std::FILE* out) {
    winsize size{};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

// A reader that went away (`| head`) is no reason to end a run: what fputs returns is not looked at.
void put(const std::string& text, std::FILE* out) {
    std::fputs(text.c_str(), out);
    std::fflush(out);
}

// The figures of the model, parted by `gap`.
std::string figures(const Progress& progress, const std::string& gap) {
    std::string text = "loss " + print_loss(progress.loss) + gap;
    if (progress.unit == Unit::kImages)
        text += fmt::format("top1 {:.1f} %", 100 * progress.top1);
    else
        text += fmt::format("ppl {:.4g}", perplexity_of(progress.loss));
    if (progress.bits_per_character)
        text += gap + fmt::format("{:.3f} bits/char", *progress.bits_per_character);
    return text + gap + print_rate(progress.per_sec) + " " + std::string(name_of(progress.unit)) + "/s";
}

std::string share(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? fmt::format("{}/{}", part, whole) : fmt::format("{}", part);
}

}  // namespace

ProgressStyle possible_style(ProgressStyle wanted, std::FILE* out) {
    if (wanted == ProgressStyle::kQuiet) return ProgressStyle::kQuiet;
    if (wanted == ProgressStyle::kPlain || isatty(fileno(out)) == 0) return ProgressStyle::kPlain;
    const char* term = std::getenv("TERM");
    const bool capable = term != nullptr && std::string_view(term) != "" && std::string_view(term) != "dumb";
    return capable || wanted == ProgressStyle::kBar ? ProgressStyle::kBar : ProgressStyle::kPlain;
}

std::string print_loss(double loss) {
    if (std::isnan(loss)) return "nan";  // its sign means nothing
    return std::abs(loss) < 1e6 ? fmt::format("{:.4f}", loss) : fmt::format("{:.4g}", loss);
}

std::string print_rate(double per_sec) {
    if (!std::isfinite(per_sec)) return "-";
    return per_sec < 100 ? fmt::format("{:.2f}", per_sec) : fmt::format("{:.0f}", per_sec);
}

std::string print_duration(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e8) return "-";
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    const std::int64_t hours = whole / 3600;
    const std::int64_t minutes = whole / 60 % 60;
    if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
    return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string print(const Progress& progress) {
    return fmt::format("epoch {}  update {}  {}  eta {}", share(progress.epoch, progress.num_epochs),
                       share(progress.step, progress.num_steps), figures(progress, "  "),
                       print_duration(progress.eta_seconds));
}

std::string print_bar(const Progress& progress, int columns) {
    const std::string head = fmt::format("epoch {} ", share(progress.epoch, progress.num_epochs));
    const std::string tail = fmt::format(" {} {} eta {}", share(progress.step, progress.num_steps),
                                         figures(progress, " "), print_duration(progress.eta_seconds));
    const int room =
        columns - 1 - static_cast<int>(head.size() + tail.size()) - 2;  // the last column stays free
    const int width = std::min(room, 30);
    if (width < 4) return (head + tail).substr(0, static_cast<std::size_t>(std::max(columns - 1, 0)));
    const double done = progress.num_steps > 0
                            ? static_cast<double>(progress.step) / static_cast<double>(progress.num_steps)
                            : 0.0;
    const auto filled = static_cast<std::size_t>(std::clamp(std::lround(done * width), 0L, long{width}));
    std::string bar(filled, '=');
    if (filled < static_cast<std::size_t>(width)) bar += '>';
    bar.resize(static_cast<std::size_t>(width), ' ');
    return head + "[" + bar + "]" + tail;
}

void Console::line(const std::string& text) {
    if (style_ == ProgressStyle::kQuiet) return;
    std::string clear;
    if (bar_width_ > 0) clear = "\r" + std::string(bar_width_, ' ') + "\r";
    bar_width_ = 0;
    drawn_at_ = -1;
    put(clear + printable_lines(text) + "\n", out_);
}

void Console::update(const Progress& progress) {
    if (style_ != ProgressStyle::kBar) return;
    const double now = now_seconds();
    if (drawn_at_ >= 0 && now - drawn_at_ < 0.1 && progress.step != progress.num_steps) return;
    drawn_at_ = now;
    std::string bar = print_bar(progress, columns_of(out_));
    const std::size_t width = bar.size();
    bar.resize(std::max(width, bar_width_), ' ');
    put("\r" + bar, out_);
    bar_width_ = width;
}

void Console::log_step(const Progress& progress) {
    if (style_ == ProgressStyle::kPlain) line(print(progress));
}

void Console::end_bar() {
    if (bar_width_ > 0) put("\n", out_);
    bar_width_ = 0;
}

}  // namespace mpt
