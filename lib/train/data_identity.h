// Which samples a run is on: a position means nothing in others, nor does the best value of an evaluation.
#pragma once

#include <cstdint>

namespace mpt {

struct SampleSet {
    std::int64_t num_samples = 0;   // 0: not known
    std::uint64_t fingerprint = 0;  // names and classes, or tokens, in order; 0: not known
};

struct DataIdentity {
    SampleSet training, validation;
};

}  // namespace mpt
