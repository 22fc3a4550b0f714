#include "train/resume.h"

#include <fmt/core.h>

#include <cstring>
#include <filesystem>

#include "config/read.h"
#include "core/error.h"
#include "train/checkpoint_path.h"
#include "train/checkpoint_store.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

Start newest_of(const RunDirectory& directory) {
    NewestCheckpoint newest;
    try {
        newest = newest_checkpoint(directory.checkpoints(), directory.run_id());
    } catch (const Error& error) {
        throw Error(error.code(), std::string(error.what()) + "; --overwrite starts anew");
    }
    Start start{std::move(newest.checkpoint), false};
    for (const std::string& complaint : newest.complaints)
        start.notices.push_back(complaint + "; the one before it is used");
    return start;
}

Start start_from_path(const RunDirectory& directory, const std::string& given, Existing existing) {
    const fs::path path = fs::absolute(given).lexically_normal();
    if (!fs::exists(path))
        throw Error(ExitCode::kCheckpoint, path.string() + ": there is no such checkpoint");
    Start start;
    if (fs::exists(path / "checkpoints")) {
        start = newest_of(RunDirectory(path));
        if (!start.checkpoint) throw Error(ExitCode::kCheckpoint, path.string() + ": holds no checkpoint");
    } else {
        start.checkpoint = read_named_checkpoint(fs::canonical(path));
    }
    std::error_code ignored;
    start.continues =
        fs::equivalent(start.checkpoint->head.path.parent_path(), directory.checkpoints(), ignored);
    if (!start.continues && existing == Existing::kKeep) directory.check_free();
    return start;
}

// What differs from the config that the checkpoint was made with, as far as the numbers hang on it.
std::string changed_settings(const RunConfig& now, const RunConfig& then) {
    std::string changed;
    for (const std::string& key :
         changed_keys(now, then, {"seed", "model", "precision", "data", "train", "optimizer", "schedule"}))
        changed += (changed.empty() ? "" : ", ") + key;
    return changed;
}

std::optional<RunConfig> config_of(const Checkpoint& checkpoint) {
    try {
        return read_config_text(checkpoint.config, (checkpoint.head.path / "config.yaml").string(), "/")
            .config;
    } catch (const Error&) {  // written by another version: then nothing can be compared
        return std::nullopt;
    }
}

// What is known to have changed; empty: nothing.
std::string changed_samples(const RunConfig& config, const SampleSet& then, const SampleSet& now) {
    if (then.num_samples == 0 || now.num_samples == 0) return "";
    if (then.num_samples != now.num_samples)
        return fmt::format("{} samples then, {} now", then.num_samples, now.num_samples);
    if (then.fingerprint == 0 || now.fingerprint == 0 || then.fingerprint == now.fingerprint) return "";
    if (config.model.is_text())
        return fmt::format("{} samples as then, but with other text", now.num_samples);
    return fmt::format("{} samples as then, but some have other names or other classes", now.num_samples);
}

void note_changed_data(const RunConfig& config, const DataIdentity& then, const DataIdentity& now,
                       std::vector<std::string>* notices) {
    if (const std::string what = changed_samples(config, then.training, now.training); !what.empty())
        notices->push_back("the training data is not the checkpoint's: " + what);
    if (const std::string what = changed_samples(config, then.validation, now.validation); !what.empty())
        notices->push_back("the validation data is not the checkpoint's: " + what +
                           "; the best value so far was measured on the other");
}

// A position is a place in the permutation of one data set by one seed.
void check_position(const Checkpoint& checkpoint, const RunConfig& config, const SampleSet& now) {
    const TrainingState& state = checkpoint.state;
    if (state.position.offset == 0) return;
    const SampleSet& then = state.data.training;
    if (then.num_samples != now.num_samples)
        throw Error(
            ExitCode::kCheckpoint,
            fmt::format("{}: stands in the middle of an epoch of {} samples, the data has {}; resume from "
                        "the end of an epoch, or start with checkpoint.init_from",
                        checkpoint.head.path.string(), then.num_samples, now.num_samples));
    if (const std::string what = changed_samples(config, then, now); !what.empty())
        throw Error(
            ExitCode::kCheckpoint,
            fmt::format("{}: stands in the middle of an epoch over other training data: {}; put them back, "
                        "resume from the end of an epoch, or start with checkpoint.init_from",
                        checkpoint.head.path.string(), what));
    if (state.seed != config.seed)
        throw Error(
            ExitCode::kCheckpoint,
            fmt::format("{}: stands in the middle of an epoch shuffled with seed {}, the config has seed {}; "
                        "set seed to {}",
                        checkpoint.head.path.string(), state.seed, config.seed, state.seed));
}

void restart_loss_scale(StepControl& control, const StepControl& fresh) {
    control.loss_scale = fresh.loss_scale;
    control.growth_counter = fresh.growth_counter;
    control.hysteresis_left = fresh.hysteresis_left;
    control.skips_at_floor = fresh.skips_at_floor;
}

fs::path weights_file(const std::string& given, const char* name) {
    const fs::path path = fs::absolute(given).lexically_normal();
    return fs::is_directory(path) ? path / name : path;
}

// Values that no run leaves behind and none can go on with.
void refuse_unusable(const StoreView& store, const fs::path& file) {
    const std::vector<FileTensor> tensors = weight_tensors(store);
    std::string fault = first_nonfinite(tensors);
    if (!fault.empty()) fault += " holds values that are not finite";
    if (const std::string variance = first_negative_variance(tensors); fault.empty() && !variance.empty())
        fault = variance + " holds a negative variance";
    if (!fault.empty()) throw Error(ExitCode::kCheckpoint, file.string() + ": " + fault);
}

void begin_average(TrainingProgram& program) {
    std::byte* average = program.region(Region::kEma);
    if (average == nullptr) return;
    const VariableTable& table = program.variables();
    MPT_CHECK(table.region(Region::kEma).dtype == table.region(Region::kMaster).dtype);
    std::memcpy(average, program.region(Region::kMaster),
                static_cast<std::size_t>(table.region_bytes(Region::kEma)));
}

}  // namespace

Start find_start(const RunDirectory& directory, const ResumeRequest& resume, Existing existing) {
    if (resume.kind != ResumeKind::kNo && existing == Existing::kOverwrite)
        throw Error(ExitCode::kUsage, "--resume and --overwrite exclude each other");
    if (resume.kind == ResumeKind::kPath) return start_from_path(directory, resume.path, existing);
    if (resume.kind == ResumeKind::kNo) {
        if (existing == Existing::kKeep) directory.check_free();
        return {};
    }
    Start start = newest_of(directory);
    start.continues = start.checkpoint.has_value();
    if (!start.checkpoint)
        start.notices.push_back(directory.path().string() + ": no checkpoint to resume from; starting anew");
    return start;
}

StoreView store_of(TrainingProgram& program) {
    StoreView store;
    store.table = &program.variables();
    for (int r = 0; r < kNumRegions; ++r)
        store.regions[static_cast<std::size_t>(r)] = program.region(static_cast<Region>(r));
    return store;
}

TrainingState restore(TrainingProgram& program, const Checkpoint& checkpoint, const RunConfig& config,
                      const DataIdentity& data, std::vector<std::string>* notices) {
    check_position(checkpoint, config, data.training);
    note_changed_data(config, checkpoint.state.data, data, notices);
    read_regions(checkpoint, store_of(program));
    refuse_unusable(store_of(program), checkpoint.head.path / "weights.safetensors");
    program.weights_changed();
    TrainingState state = checkpoint.state;
    const std::optional<RunConfig> then = config_of(checkpoint);
    if (then) {
        const std::string changed = changed_settings(config, *then);
        if (!changed.empty())
            notices->push_back("resumed with other settings than the checkpoint's: " + changed);
    }
    if (then && !(then->precision == config.precision)) {
        restart_loss_scale(state.control, program.control());
        notices->push_back("the precision settings changed: the loss scale starts anew");
    }
    if (then && then->checkpoint.best != config.checkpoint.best) {
        state.best = {};
        notices->push_back("checkpoint.best is another metric now: the search for the best starts anew");
    }
    program.set_control(state.control);
    state.data = data;
    state.seed = config.seed;
    return state;
}

std::string load_initial_weights(TrainingProgram& program, const RunConfig& config) {
    const FoundCheckpoint found = find_checkpoint(config.checkpoint.init_from);
    const SafetensorsFile file(weights_file(found.path.string(), "weights.safetensors"));
    const std::vector<FileTensor> tensors = weight_tensors(store_of(program));
    std::string report;
    if (config.checkpoint.init_partial) {
        const std::vector<Mismatch> left_out = read_fitting_tensors(file, tensors);
        report = fmt::format("weights from {}: {} did not fit", file.path().string(), left_out.size());
        for (const Mismatch& mismatch : left_out)
            report += fmt::format("\n  not loaded: {}: {}", mismatch.tensor, mismatch.fault);
    } else {
        try {
            read_tensors(file, tensors, Conversion::kAny);
        } catch (const Error& error) {
            throw Error(error.code(),
                        std::string(error.what()) + "; checkpoint.init_partial: true loads what fits");
        }
        report = fmt::format("weights from {}: {} tensors", file.path().string(), tensors.size());
    }
    for (const std::string& notice : found.notices) report += "\n  " + notice;
    refuse_unusable(store_of(program), file.path());
    begin_average(program);
    program.weights_changed();
    return report;
}

void load_weights(const StoreView& store, const std::string& path) {
    const bool has_average = fs::exists(fs::path(path) / "ema.safetensors");
    const SafetensorsFile file(weights_file(path, has_average ? "ema.safetensors" : "weights.safetensors"));
    read_tensors(file, weight_tensors(store), Conversion::kAny);
    refuse_unusable(store, file.path());
}

void load_weights(TrainingProgram& program, const std::string& path) {
    load_weights(store_of(program), path);
    program.weights_changed();
}

}  // namespace mpt
