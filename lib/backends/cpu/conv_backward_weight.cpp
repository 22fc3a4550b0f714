#include "backends/cpu/conv_backward_weight.h"

#include <algorithm>

namespace mpt::cpu {
namespace {

// Pixels of one call: the operands it sweeps for every few columns of the result stay in L1.
constexpr Index kSegmentPixels = 64, kCallPixels = 112;

}  // namespace

WeightGradient::WeightGradient(const ConvShape& shape, const InputScratch& input,
                               const GradientScratch& gradient)
    : shape_(shape) {
    const InputView& view = input.view();
    weights_ = {gradient.blocks(), input.blocks(), view.taps_h * view.taps_w};
    const Index c = weights_.input.size, k = weights_.output.size;
    for (const Segment& segment : segments_of(shape.out_width(), kSegmentPixels)) {
        KernelShape kernel{c, k, segment.pixels, view.stride_w * c, k, c, false, true};
        Part part{segment, BatchKernel(kernel), BatchKernel()};
        kernel.accumulate = true;
        part.add = BatchKernel(kernel);
        parts_.push_back(part);
    }
    call_rows_ = std::max<Index>(1, kCallPixels / shape.out_width());
    for (Index row = 0; row < call_rows_; ++row) {
        a_offsets_.push_back(static_cast<BatchKernel::Offset>(row * view.stride_h * input.row_floats() * 4));
        b_offsets_.push_back(static_cast<BatchKernel::Offset>(row * gradient.row_floats() * 4));
    }
}

void WeightGradient::run(const Item& item, const InputScratch& input, const float* x,
                         const GradientScratch& gradient, const float* dy, float* partial,
                         Accumulate start) const {
    const InputView& view = input.view();
    const Index c_size = weights_.input.size, k_size = weights_.output.size;
    const Index first = item.row_begin(shape_.out_height()), end = item.row_end(shape_.out_height());
    for (Index k = 0; k < weights_.output.count; ++k) {
        for (Index c = 0; c < weights_.input.count; ++c) {
            for (Index tap = 0; tap < weights_.taps; ++tap) {
                float* target = partial + weights_.tile(k, c, tap);
                const float* x_tap = x + c * input.block_floats() + tap / view.taps_w * input.row_floats() +
                                     tap % view.taps_w * c_size;
                const float* dy_block = dy + k * gradient.block_floats();
                bool add = start == Accumulate::kAdd;
                for (Index image = 0; image < item.images(); ++image) {
                    for (Index row = first; row < end; row += call_rows_) {
                        const auto rows = static_cast<BatchKernel::Offset>(std::min(call_rows_, end - row));
                        const float* a = x_tap + input.row_offset(item, image, row);
                        const float* b = dy_block + gradient.row_offset(item, image, row);
                        for (const Part& part : parts_) {
                            const BatchKernel& kernel = add ? part.add : part.overwrite;
                            kernel(a + part.segment.begin * view.stride_w * c_size,
                                   b + part.segment.begin * k_size, target, rows, a_offsets_.data(),
                                   b_offsets_.data());
                            add = true;
                        }
                    }
                }
            }
        }
    }
}

}  // namespace mpt::cpu
