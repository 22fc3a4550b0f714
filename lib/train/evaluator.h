// Loss and further scores over a whole data set, everything once, weighted by what counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/rows.h"
#include "train/bleu_scorer.h"
#include "train/run_data.h"
#include "train/stop_flag.h"

namespace mpt {

enum class WeightsToUse { kAverageIfThere, kMasters };

// Empty when `stop` was raised before the end. With fewer than five classes top5 is 1. `bleu` may be null.
std::optional<EvaluationRow> evaluate(TrainingProgram& program, const RunData& data, WeightsToUse weights,
                                      const StopFlag* stop, BleuScorer* bleu);

// Compiles the config's model, loads `checkpoint` (a directory or a safetensors file) and evaluates it on the
// test data. Images are normalised and classes numbered as they were in training. `notices` may be null.
std::optional<EvaluationRow> evaluate_checkpoint(const RunConfig& config, const std::string& checkpoint,
                                                 const StopFlag* stop,
                                                 std::vector<std::string>* notices = nullptr);

}  // namespace mpt
