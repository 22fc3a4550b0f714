// Which elements of the flat parameter regions belong to which parameter, and which parameters decay.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/variables.h"

namespace mpt {

struct Segment {
    std::int64_t offset = 0;    // elements, into every parameter region
    std::int64_t elements = 0;  // true count; padding behind it is no parameter and stays zero
    bool decayed = true;        // weight decay, and the trust ratio of LARS and LAMB
    bool operator==(const Segment&) const = default;
};

// Immutable and shared between the copies of an update's attributes.
class SegmentTable {
  public:
    SegmentTable() : SegmentTable(std::vector<Segment>{}) {}
    explicit SegmentTable(std::vector<Segment> segments)
        : segments_(std::make_shared<const std::vector<Segment>>(std::move(segments))) {}
    const std::vector<Segment>& all() const { return *segments_; }
    std::int64_t size() const { return static_cast<std::int64_t>(segments_->size()); }
    bool operator==(const SegmentTable& other) const {
        return segments_ == other.segments_ || *segments_ == *other.segments_;
    }

  private:
    std::shared_ptr<const std::vector<Segment>> segments_;
};

// Kinds of parameters that `optimizer.exclude_from_decay` exempts.
struct DecayExclusion {
    bool norm = true;  // gains and biases of normalisation layers
    bool bias = true;  // biases of convolutions and linear layers
};

struct DecayGroups {
    SegmentTable segments;  // one a parameter, by offset
    std::int64_t num_decayed = 0;
    std::int64_t num_exempt = 0;
    std::string summary;  // one line for the log: the counts and the rule
};
DecayGroups decay_groups(const VariableTable& variables, const DecayExclusion& exclude);

}  // namespace mpt
