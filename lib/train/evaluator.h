// Loss and accuracy over a whole data set, every sample once, weighted by samples.
#pragma once

#include <optional>

#include "dataset/dataset.h"
#include "train/stop_flag.h"
#include "train/training_program.h"

namespace mpt {

struct Evaluation {
    double loss = 0, top1 = 0, top5 = 0;
    std::int64_t samples = 0;
    bool ema = false;
};

enum class WeightsToUse { kAverageIfThere, kMasters };

// Empty when `stop` was raised before the end. With fewer than five classes top5 is 1.
std::optional<Evaluation> evaluate(TrainingProgram& program, const ImageSource& source,
                                   const StreamOptions& stream, WeightsToUse weights, const StopFlag* stop);

// Compiles the config's model, loads `checkpoint` (a directory or a safetensors file) and evaluates it on the
// test data.
std::optional<Evaluation> evaluate_checkpoint(const RunConfig& config, const std::string& checkpoint,
                                              const StopFlag* stop);

}  // namespace mpt
