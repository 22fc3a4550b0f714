// The dropouts of one model: each gets a stream of random numbers of its own, in the order of building.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"
#include "ops/dropout/dropout.h"

namespace mpt {

class DropoutLayer {
  public:
    // `step` (i32 [], of micro-steps) may be kNone when the probability is 0: nothing is dropped.
    DropoutLayer(GraphBuilder& builder, double probability, std::uint64_t seed, ValueId step)
        : builder_(builder), probability_(probability), seed_(seed), step_(step) {}

    ValueId operator()(ValueId x, const std::string& name = "dropout") {
        const DropoutAttributes next = attributes();
        return next.probability == 0 ? x : dropout(builder_, x, step_, next, name);
    }
    // For ops that drop by themselves; `step` goes with them, kNone when nothing is dropped.
    DropoutAttributes attributes() {
        if (probability_ == 0) return {};
        MPT_CHECK(step_ != kNone, "dropout needs the number of the step");
        return {probability_, seed_, (*next_stream_)++};
    }
    ValueId step() const { return probability_ == 0 ? kNone : step_; }
    // Drops another share, from the same row of streams.
    DropoutLayer with(double probability) const {
        DropoutLayer other = *this;
        other.probability_ = probability;
        return other;
    }

  private:
    GraphBuilder& builder_;
    double probability_;
    std::uint64_t seed_;
    ValueId step_;
    std::shared_ptr<std::uint32_t> next_stream_ = std::make_shared<std::uint32_t>(0);
};

}  // namespace mpt
