// From the config to what the other rooms want to know.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "dataset/dataset.h"
#include "train/training_program.h"

namespace mpt {

SourceOptions source_options(const RunConfig& config, Split split);
Batching batching_of(const RunConfig& config);
StreamOptions training_stream(const RunConfig& config, const StreamPosition& start);
std::int64_t evaluation_batch(const RunConfig& config);

struct RunData {
    std::unique_ptr<ImageSource> train, test;
    std::vector<std::string> warnings;
    DataDescription description;
};
RunData open_data(const RunConfig& config);  // Error(kData)
std::unique_ptr<ImageSource> open_test_data(const RunConfig& config, std::vector<std::string>* warnings);

// Tells the program every batch size that will occur, short last ones included.
void expect_batches(TrainingProgram& program, const RunConfig& config, const RunData& data,
                    const StreamPosition& start);

// Error(kUsage) on settings that are right one by one but do not go together, or that this build cannot run.
void check_supported(const RunConfig& config);
int num_threads(const RunConfig& config);
std::int64_t memory_limit(const RunConfig& config);  // bytes

}  // namespace mpt
