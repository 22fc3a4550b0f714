// The dropouts of one model: each gets a stream of random numbers of its own, in the order of building.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"
#include "ops/dropout/dropout.h"

namespace mpt {

class DropoutLayer {
  public:
    // `step` (i32 [], of micro-steps) may be kNone when the probability is 0: nothing is dropped.
    DropoutLayer(GraphBuilder& builder, double probability, std::uint64_t seed, ValueId step)
        : builder_(builder), probability_(probability), seed_(seed), step_(step) {
        MPT_CHECK(probability == 0 || step != kNone, "dropout needs the number of the step");
    }

    ValueId operator()(ValueId x, const std::string& name = "dropout") {
        const DropoutAttributes next = attributes();
        return next.probability == 0 ? x : dropout(builder_, x, step_, next, name);
    }
    // For ops that drop by themselves; `step` goes with them, kNone when nothing is dropped.
    DropoutAttributes attributes() {
        if (probability_ == 0) return {};
        return {probability_, seed_, next_stream_++};
    }
    ValueId step() const { return probability_ == 0 ? kNone : step_; }

  private:
    GraphBuilder& builder_;
    double probability_;
    std::uint64_t seed_;
    ValueId step_;
    std::uint32_t next_stream_ = 0;
};

}  // namespace mpt
