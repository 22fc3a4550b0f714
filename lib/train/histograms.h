// What activations and scaled gradients of one micro-step look like in f16, and which loss scale would suit
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/training_program.h"
#include "train/value_statistics.h"

namespace mpt {

struct ValueHistogram {
    std::string value, op, phase, dtype;
    ValueStatistics statistics;
    double flushed = 0;  // share of the elements that are zero only because f16 ends at 2^-24
};

struct HistogramReport {
    std::vector<ValueHistogram> values;
    float loss_scale = 1;
    // Of f16 gradients, where there are any:
    double flushed = 0;                // share of all elements
    std::string worst;                 // the value with the largest share
    std::optional<float> recommended;  // the largest power of two that leaves two bits of headroom
};

// Runs the last micro-step of the program again, twice where gradients are f16; the run does not notice. What
// is flushed is what is not zero any more at the recommended scale.
HistogramReport look_at_values(TrainingProgram& program, float loss_scale);

// One line of histograms.jsonl a value, then one for the whole.
std::string to_json_lines(const HistogramReport& report, std::int64_t step);
std::string print(const HistogramReport& report);

}  // namespace mpt
