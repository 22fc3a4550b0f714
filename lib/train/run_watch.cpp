#include "train/run_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "train/histograms.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

constexpr int kMostLookedFor = 5;

void append(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::app | std::ios::binary);
    file << text;
    if (!file.flush()) throw Error(ExitCode::kResource, path.string() + ": cannot be written");
}

}  // namespace

RunWatch::RunWatch(const RunConfig& config, const RunDirectory& directory, std::int64_t total_updates,
                   TrainingProgram& program, RunLog& log, std::optional<CpuMachine> machine)
    : config_(config), directory_(directory), total_updates_(total_updates), program_(program), log_(log) {
    if (config.debug.profile > 0) profiler_ = std::make_unique<StepProfiler>(std::move(machine));
}

void RunWatch::begin_update(std::int64_t attempt) {
    attempt_ = attempt;
    early_.clear();
    if (profiler_ == nullptr) return;
    // After the warm-up, unless what is left of the run is too short for that.
    if (first_profiled_ == 0)
        first_profiled_ =
            attempt + std::clamp<std::int64_t>(total_updates_ - (attempt - 1) - config_.debug.profile, 0,
                                               config_.train.warmup_steps);
    if (attempt == first_profiled_)
        program_.time_steps([this](const Executor& executor, const std::vector<double>& ms) {
            profiler_->see(executor, ms);
        });
}

void RunWatch::after_micro_step(std::int64_t index, bool finite, bool last) {
    num_micro_ = index + 1;
    if (last || !early_.empty() || looked_for_ >= kMostLookedFor || finite) return;
    ++looked_for_;
    const std::string first = program_.first_nonfinite(program_.control().loss_scale);
    if (!first.empty()) early_ = fmt::format("micro-step {}: {}", index + 1, first);
}

void RunWatch::after_update() {
    if (profiler_ != nullptr && attempt_ + 1 >= first_profiled_ + config_.debug.profile) write_profile();
    // Behind the update, where the gradients are zero and need not be kept.
    if (config_.debug.histograms_every == 0 || attempt_ % config_.debug.histograms_every != 0) return;
    const HistogramReport report = look_at_values(program_, program_.control().loss_scale);
    append(directory_.path() / "histograms.jsonl", to_json_lines(report, attempt_));
    log_.say(print(report));
}

void RunWatch::end() {
    if (profiler_ != nullptr && profiler_->has_seen_any()) write_profile();
}

void RunWatch::write_profile() {
    program_.time_steps({});
    const std::filesystem::path table = directory_.path() / "profile.txt";
    const std::filesystem::path trace = directory_.path() / "trace.json";
    for (const auto& path : {table, trace}) std::filesystem::remove(path);
    const std::string text = profiler_->table();
    append(table, text);
    append(trace, profiler_->trace());
    log_.say("profile:" + text.substr(text.rfind('\n', text.size() - 2) + 1,
                                      text.size() - 2 - text.rfind('\n', text.size() - 2)));
    log_.say(fmt::format("ms per op and Chrome trace: {}, {}", table.string(), trace.string()));
    profiler_.reset();
}

std::string RunWatch::first_nonfinite(const StepControl& control) {
    if (!early_.empty()) return early_;
    if (looked_for_ >= kMostLookedFor) return {};
    ++looked_for_;
    const std::string first = program_.first_nonfinite(control.used_loss_scale);
    if (first.empty() || config_.train.accumulate == 1) return first;
    return fmt::format("micro-step {}: {}", num_micro_, first);
}

}  // namespace mpt
