// One checkpoint: a directory with everything a run needs to go on to the bit.
//
//   weights.safetensors    masters and running statistics, as PyTorch loads them
//   ema.safetensors        the same with the weights' moving average, when there is one
//   optimizer.safetensors  moments
//   scaling.safetensors    of mode fp8: the state of every tensor's scale
//   state.json             TrainingState: control block field by field, data position, counters, best
//   config.yaml            the resolved config
//   tokenizer/, source_tokenizer/   of runs on text: the vocabulary
//   manifest.json          size and CRC-32 of each file above; written last
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dataset/batch_stream.h"
#include "dataset/image_source.h"
#include "metrics/meters.h"
#include "metrics/rows.h"
#include "optim/step_control.h"
#include "train/best_tracker.h"
#include "train/data_identity.h"
#include "train/weights.h"

namespace mpt {

// What the host knows of a run between two updates. Random numbers are a function of seed and position.
struct TrainingState {
    std::uint64_t seed = 0;
    StreamPosition position;  // the next sample
    DataIdentity data;
    StepControl control;
    std::int64_t micro_steps = 0;       // forward passes in training so far
    std::int64_t nonfinite_losses = 0;  // in a row
    std::optional<double> last_finite_loss;
    MeanMeter loss, top1;  // of the log interval that is open
    BestTracker best;
    bool evaluation_due = false;              // an evaluation at this update was cut short
    std::optional<EvaluationRow> evaluation;  // the last one
    double elapsed = 0;                       // seconds of the run so far
    std::vector<std::string> class_names;
    ChannelStatistics normalization;  // that images are trained with; empty: not known, or none
};

// What identifies a checkpoint without loading it.
struct CheckpointHead {
    std::filesystem::path path;
    std::string run_id;
    std::int64_t sequence = 0;  // rises with every save of a run, also across resumes
    std::int64_t step = 0;
};

struct Checkpoint {
    CheckpointHead head;
    TrainingState state;
    std::string config;
};

// A further file of every checkpoint of a run; the name may hold one folder.
struct ExtraFile {
    std::string name, bytes;
};

// First tensor that would be saved and is not finite; empty when all are.
std::string first_nonfinite(const StoreView& store);

// Writes all files into `folder`, which must not exist, and flushes them.
void write_checkpoint(const std::filesystem::path& folder, const CheckpointHead& head,
                      const TrainingState& state, const StoreView& store, const std::string& config,
                      const std::vector<ExtraFile>& extras = {});

// All throw Error(kCheckpoint) with one line naming the file at fault.
CheckpointHead read_head(const std::filesystem::path& folder);
Checkpoint read_checkpoint(const std::filesystem::path& folder);  // every checksum compared
// Of a file of weights that is named itself: where the manifest beside it lists it, it must fit, and so must
// the config and the vocabulary, which are read with it. The rest of the checkpoint may be gone.
void check_weights_file(const std::filesystem::path& file);
void read_regions(const Checkpoint& checkpoint, const StoreView& store);

std::string to_json(const TrainingState& state);
TrainingState training_state_from_json(const std::string& text, const std::string& origin);

}  // namespace mpt
