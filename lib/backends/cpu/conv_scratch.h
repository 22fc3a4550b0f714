// The padded f32 scratches between NHWC storage and the micro-kernels: one for the input, one for the
// output's gradient. Each belongs to one thread and holds one item of work,
// [blocks][images][rows][width][block].
#pragma once

#include "backends/cpu/conv_geometry.h"
#include "backends/cpu/conv_passes.h"

namespace mpt::cpu {

// x_eff = relu?(scale * x + shift); scale null: no affine.
struct InputSource {
    const void* x = nullptr;
    DType type = DType::f32;
    const float* scale = nullptr;
    const float* shift = nullptr;
    bool relu = false;
};

class InputScratch {
  public:
    InputScratch() = default;
    // With a row unit of 2 the scratch reaches to the end of whole tiles of 2x2 outputs.
    InputScratch(const ConvShape& shape, const ItemSplit& split);

    const InputView& view() const { return view_; }
    const Blocking& blocks() const { return blocks_; }
    Index floats() const { return blocks_.count * block_floats_ + kCacheLineFloats; }
    Index rows(const Item& item) const {
        const Index out_rows = item.row_end(shape_.out_height()) - item.row_begin(shape_.out_height());
        return view_.rows(round_up(out_rows, item.row_unit));
    }
    Index row_buffer_floats() const;  // needed by the packing views beside the scratch
    Index block_floats() const { return block_floats_; }
    Index row_floats() const { return view_.width * blocks_.size; }
    // Offset of the first scratch row that output row `row` of an item's image number `image` needs.
    Index row_offset(const Item& item, Index image, Index row) const {
        const Index first = item.row_begin(shape_.out_height());
        return (image * rows_per_image_ + (row - first) * view_.stride_h) * row_floats();
    }
    void fill(const Item& item, const InputSource& source, float* scratch, float* row_buffer) const;

  private:
    void fill_plain_row(const InputSource& source, Index image, Index h, float* target) const;
    void fill_packed_row(const InputSource& source, Index image, Index h, float* target,
                         float* row_buffer) const;
    void convert_row(const InputSource& source, Index image, Index h, float* row_buffer) const;

    ConvShape shape_;
    InputView view_;
    Blocking blocks_;
    Index rows_per_image_ = 0, block_floats_ = 0;
};

// dy_eff = a * g + b * y + c; a null: dy_eff = g.
struct GradientSource {
    const void* g = nullptr;
    const void* y = nullptr;
    DType g_type = DType::f32, y_type = DType::f32;
    const float* a = nullptr;
    const float* b = nullptr;
    const float* c = nullptr;
};

class GradientScratch {
  public:
    GradientScratch() = default;
    // Whole tiles as above. With `for_data` the rows and columns that the data gradient needs round an item's
    // own are there, too.
    GradientScratch(const ConvShape& shape, const ItemSplit& split, bool for_data);

    const Blocking& blocks() const { return blocks_; }
    Index floats() const { return blocks_.count * block_floats_ + kCacheLineFloats; }
    Index block_floats() const { return block_floats_; }
    Index row_floats() const { return width_ * blocks_.size; }
    // Offset of pixel (row, 0) of the output, which may lie outside of it in the padding.
    Index row_offset(const Item& item, Index image, Index row) const {
        return ((image * rows_per_image_ + row - first_row(item)) * width_ + left_) * blocks_.size;
    }
    void fill(const Item& item, const GradientSource& source, float* scratch) const;

  private:
    Index first_row(const Item& item) const;
    Index end_row(const Item& item) const;

    ConvShape shape_;
    bool for_data_ = false;
    Blocking blocks_;
    Index left_ = 0, width_ = 0, rows_per_image_ = 0, block_floats_ = 0;
};

// Division that rounds towards minus infinity.
constexpr Index floor_divide(Index value, Index by) {
    return value >= 0 ? value / by : -((-value + by - 1) / by);
}

}  // namespace mpt::cpu
