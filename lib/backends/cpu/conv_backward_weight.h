// Weight gradient of one item, added to the thread's partial sums.
#pragma once

#include <vector>

#include "backends/cpu/conv_scratch.h"
#include "backends/cpu/conv_weights.h"
#include "backends/cpu/conv_xsmm.h"

namespace mpt::cpu {

class WeightGradient {
  public:
    WeightGradient() = default;
    WeightGradient(const ConvShape& shape, const InputScratch& input, const GradientScratch& gradient);

    const WeightLayout& weights() const { return weights_; }
    void run(const Item& item, const InputScratch& input, const float* x, const GradientScratch& gradient,
             const float* dy, float* partial, Accumulate start) const;

  private:
    // Kernels for `rows` rows of one segment; a batch element is a row.
    struct Part {
        Segment segment;
        BatchKernel overwrite, add;
    };
    ConvShape shape_;
    WeightLayout weights_;
    std::vector<Part> parts_;
    std::vector<BatchKernel::Offset> a_offsets_, b_offsets_;  // of the rows of one call
    Index call_rows_ = 1;
};

}  // namespace mpt::cpu
