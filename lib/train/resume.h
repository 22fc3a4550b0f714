// Where a run starts: from nothing, or from a checkpoint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "train/checkpoint.h"
#include "train/run_directory.h"
#include "train/training_program.h"

namespace mpt {

enum class ResumeKind { kNo, kAuto, kPath };
struct ResumeRequest {
    ResumeKind kind = ResumeKind::kNo;
    std::string path = {};  // kPath: a checkpoint, or the directory of a run
};
enum class Existing { kKeep, kOverwrite };

struct Start {
    std::optional<Checkpoint> checkpoint;
    bool continues = false;  // in the same directory: its log and metrics go on
    std::vector<std::string> notices = {};
};

// Reads only. Error(kUsage) when the directory holds a run and nothing was said about it, Error(kCheckpoint)
// when what was asked for is not there or damaged. kAuto starts anew where there is no checkpoint yet.
Start find_start(const RunDirectory& directory, const ResumeRequest& resume, Existing existing);

StoreView store_of(TrainingProgram& program);

// Puts the checkpoint into the program and returns its state. Error(kCheckpoint) when model, optimizer or
// data do not fit; `notices` gets a line on settings that are not the checkpoint's.
TrainingState restore(TrainingProgram& program, const Checkpoint& checkpoint, const RunConfig& config,
                      const DataIdentity& data, std::vector<std::string>* notices);

// config.checkpoint.init_from: weights only. Returns a line on what was loaded and what was not.
std::string load_initial_weights(TrainingProgram& program, const RunConfig& config);

// A safetensors file, or the weights (their moving average when it has one) of a checkpoint that
// find_checkpoint found whole, for evaluation.
void load_weights(TrainingProgram& program, const std::string& path);
// The same into masters alone.
void load_weights(const StoreView& store, const std::string& path);

}  // namespace mpt
