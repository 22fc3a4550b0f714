// Data gradient of one item: for each remainder class of (h, w) modulo the stride a small convolution of the
// output gradient's scratch with the taps that meet it; no multiplication by zero.
#pragma once

#include <vector>

#include "backends/cpu/conv_scratch.h"
#include "backends/cpu/conv_weights.h"
#include "backends/cpu/conv_winograd.h"
#include "backends/cpu/conv_xsmm.h"

namespace mpt::cpu {

class DataGradient {
  public:
    DataGradient() = default;
    DataGradient(const ConvBackwardSpec& spec, const GradientScratch& gradient, const ItemSplit& split,
                 bool winograd);

    const WeightLayout& weights() const { return weights_; }
    Index tile_floats() const {
        return winograd_ ? product_.scratch_floats() : tile_rows_ * shape_.width * weights_.output.size;
    }
    // Whether the result is stored past the caches; then the caller fences.
    bool streams() const {
        const Index elements = shape_.batch * shape_.height * shape_.width * shape_.in_channels;
        return elements * static_cast<Index>(size_of(spec_.dx)) >= kStreamBytes;
    }
    // `sums`: up to three rows of [C] doubles, added to.
    void run(const ConvBackwardArgs& args, const Item& item, const GradientScratch& gradient,
             const float* scratch, const float* packed, float* tile, double* sums) const;

  private:
    // Taps that reach the rows h = remainder_h and columns w = remainder_w modulo the stride.
    struct Class {
        Index first_row = 0;  // output row of the first tap, for i = 0 in h = remainder + stride * i
        Index remainder_w = 0;
        std::vector<Segment> segments;
        std::vector<BatchKernel> kernels;
        std::vector<BatchKernel::Offset> a_offsets, b_offsets;
        Index first_column = 0;
    };
    Class make_class(const GradientScratch& gradient, Index remainder_h, Index remainder_w) const;
    void run_direct(const ConvBackwardArgs& args, const Item& item, const GradientScratch& gradient,
                    const float* scratch, const float* packed, float* tile, double* sums) const;
    // Stores rows of an input block, numbered through the images from row `row` of image `image` on.
    void store_rows(const ConvBackwardArgs& args, Index block, Index image, Index row, Index rows,
                    const float* tile, double* sums) const;
    void run_row(const GradientScratch& gradient, const Item& item, const float* scratch, const float* packed,
                 Index image, Index h, float* target) const;

    ConvBackwardSpec spec_;
    ConvShape shape_;
    bool winograd_ = false;
    WinogradProduct product_;
    WeightLayout weights_;
    std::vector<Class> classes_;  // [remainder_h][remainder_w]
    Index tile_rows_ = 1;
};

}  // namespace mpt::cpu
