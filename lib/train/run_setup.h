// From the config to what the other rooms want to know.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "dataset/dataset.h"
#include "dataset/image_source.h"
#include "train/run_data.h"

namespace mpt {

AugmentOptions augmentation_of(const AugmentConfig& config);
SourceOptions source_options(const RunConfig& config, Split split);
Batching batching_of(const RunConfig& config);
StreamOptions training_stream(const RunConfig& config, const StreamPosition& start);
// What pixels are shifted and scaled by: data.augment.normalize's, whose `auto` goes over the training set.
ChannelStatistics normalization_of(const RunConfig& config, const ImageSource& train, const AskStop& stop);
// Random erasing fills with the mean.
void set_erase_colour(StreamOptions& options, const std::vector<float>& mean);
std::int64_t evaluation_batch(const RunConfig& config);

// Tells the program every shape that will occur, short last batches included.
void expect_batches(TrainingProgram& program, const RunData& data, const StreamPosition& start);

// Error(kUsage) on settings that are right one by one but do not go together, or that this build cannot run.
void check_supported(const RunConfig& config);
int num_threads(const RunConfig& config);

}  // namespace mpt
