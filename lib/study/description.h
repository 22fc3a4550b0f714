// What a plan must know of the data, from the config alone: the data set need not be there.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"
#include "train/training_program.h"

namespace mpt {

struct DescribedData {
    DataDescription data;
    std::int64_t train_samples = 0;     // 0: not known
    std::string sample = "images";      // what throughput counts
    std::int64_t items_per_sample = 1;  // tokens of a sequence; 1 for images
    std::vector<std::string> notes;     // what was assumed
};

// Reads at most a file's header. Sizes that neither config nor header say are assumed, and noted.
DescribedData describe_data(const RunConfig& config);

}  // namespace mpt
