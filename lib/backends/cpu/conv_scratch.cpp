#include "backends/cpu/conv_scratch.h"

#include <algorithm>
#include <cstring>

namespace mpt::cpu {
namespace {

void zero_floats(float* target, Index count) {
    std::memset(target, 0, static_cast<std::size_t>(count) * sizeof(float));
}

const void* element(const void* data, DType type, Index index) {
    return static_cast<const char*>(data) + index * static_cast<Index>(size_of(type));
}

}  // namespace

InputScratch::InputScratch(const ConvShape& shape, const ItemSplit& split)
    : shape_(shape), view_(InputView::of(shape)), blocks_(Blocking::of(view_.channels)) {
    if (view_.mode == InputMode::kPackRows || view_.mode == InputMode::kPackWindow)
        blocks_ = {view_.channels, round_up(view_.channels, kCacheLineFloats), 1};
    if (split.row_unit > 1) view_.width = round_up(shape.out_width(), split.row_unit) + shape.kernel_w - 1;
    for (Index band = 0; band < split.bands; ++band) {
        const Item item{0, 1, band, split.bands, split.row_unit};
        rows_per_image_ = std::max(rows_per_image_, rows(item));
    }
    block_floats_ = split.max_images() * rows_per_image_ * row_floats();
}

Index InputScratch::row_buffer_floats() const {
    const bool packs = view_.mode == InputMode::kPackRows || view_.mode == InputMode::kPackWindow;
    return packs ? (shape_.width + 2 * shape_.pad) * shape_.in_channels + kCacheLineFloats : 0;
}

void InputScratch::fill(const Item& item, const InputSource& source, float* scratch,
                        float* row_buffer) const {
    const Index first = item.row_begin(shape_.out_height());
    for (Index image = 0; image < item.images(); ++image) {
        for (Index row = 0; row < rows(item); ++row) {
            float* target = scratch + (image * rows_per_image_ + row) * row_floats();
            const Index n = item.image_begin + image;
            const Index top = first * shape_.stride - shape_.pad;
            switch (view_.mode) {
                case InputMode::kPlain:
                    fill_plain_row(source, n, top + row, target);
                    break;
                case InputMode::kSubsample:
                    fill_plain_row(source, n, (first + row) * shape_.stride, target);
                    break;
                case InputMode::kPackRows:
                    fill_packed_row(source, n, top + row, target, row_buffer);
                    break;
                case InputMode::kPackWindow:
                    for (Index r = 0; r < shape_.kernel_h; ++r) {
                        float* part = target + r * shape_.kernel_w * shape_.in_channels;
                        fill_packed_row(source, n, top + row * shape_.stride + r, part, row_buffer);
                    }
            }
        }
    }
}

void InputScratch::fill_plain_row(const InputSource& source, Index image, Index h, float* target) const {
    const Index step = view_.mode == InputMode::kSubsample ? shape_.stride : 1;
    const bool inside = h >= 0 && h < shape_.height;
    const Index left = view_.mode == InputMode::kSubsample ? 0 : shape_.pad;
    const Index pixels = view_.mode == InputMode::kSubsample ? view_.width : shape_.width;
    const Index right = view_.width - left - pixels;
    for (Index block = 0; block < blocks_.count; ++block) {
        float* row = target + block * block_floats_;
        if (!inside) {
            zero_floats(row, row_floats());
        } else {
            zero_floats(row, left * blocks_.size);
            zero_floats(row + (left + pixels) * blocks_.size, right * blocks_.size);
        }
    }
    if (!inside) return;
    InputFill fill;
    const Index at = (image * shape_.height + h) * shape_.width * shape_.in_channels;
    fill.source = {element(source.x, source.type, at), source.type, step * shape_.in_channels};
    fill.pixels = pixels;
    fill.channels = shape_.in_channels;
    fill.target = target + left * blocks_.size;
    fill.block = blocks_.size;
    fill.target_block = block_floats_;
    fill.scale = source.scale;
    fill.shift = source.shift;
    fill.relu = source.relu;
    conv_passes().fill_input(fill);
}

// The padded row as plain floats [W + 2 pad][C]. With few channels an affine row is cheap enough a pixel at a
// time.
void InputScratch::convert_row(const InputSource& source, Index image, Index h, float* row_buffer) const {
    const Index channels = shape_.in_channels, pad = shape_.pad * channels, values = shape_.width * channels;
    zero_floats(row_buffer, pad);
    zero_floats(row_buffer + pad + values, pad + kCacheLineFloats);
    InputFill fill;
    const Index at = (image * shape_.height + h) * values;
    fill.source = {element(source.x, source.type, at), source.type, values};
    fill.pixels = 1;
    fill.channels = values / kCacheLineFloats * kCacheLineFloats;
    fill.target = row_buffer + pad;
    fill.block = fill.channels;
    if (fill.channels > 0) conv_passes().fill_input(fill);
    // The rest goes through one padded vector, so that nothing is written past the row.
    alignas(64) float rest[kCacheLineFloats];
    const Index done = fill.channels;
    if (done < values) {
        fill.source.data = element(source.x, source.type, at + done);
        fill.channels = values - done;
        fill.target = rest;
        fill.block = kCacheLineFloats;
        conv_passes().fill_input(fill);
        std::copy(rest, rest + values - done, row_buffer + pad + done);
    }
    if (source.scale == nullptr && !source.relu) return;
    float* value = row_buffer + pad;
    for (Index w = 0; w < shape_.width; ++w) {
        for (Index c = 0; c < channels; ++c, ++value) {
            if (source.scale != nullptr) *value = __builtin_fmaf(source.scale[c], *value, source.shift[c]);
            if (source.relu && *value < 0) *value = 0;
        }
    }
}

// Copies whole cache lines: what spills over a pixel's values is overwritten by the next pixel or never used.
void InputScratch::fill_packed_row(const InputSource& source, Index image, Index h, float* target,
                                   float* row_buffer) const {
    const Index values = shape_.kernel_w * shape_.in_channels;
    const Index step = shape_.stride * shape_.in_channels;
    const bool inside = h >= 0 && h < shape_.height;
    if (inside) convert_row(source, image, h, row_buffer);
    for (Index q = 0; q < view_.width; ++q, target += blocks_.size) {
        if (inside)
            std::memcpy(target, row_buffer + q * step, static_cast<std::size_t>(values) * sizeof(float));
        else
            zero_floats(target, values);
    }
}

GradientScratch::GradientScratch(const ConvShape& shape, const ItemSplit& split, bool for_data)
    : shape_(shape),
      for_data_(for_data),
      blocks_(Blocking::of(shape.out_channels)),
      width_(shape.out_width()) {
    if (for_data) {
        left_ = std::max<Index>(0, -floor_divide(shape.pad - (shape.kernel_w - 1), shape.stride));
        const Index last = floor_divide(shape.width - 1 + shape.pad, shape.stride);
        width_ = left_ + std::max(last + 1, shape.out_width());
    }
    if (split.row_unit > 1) {
        width_ = left_ + round_up(shape.out_width(), split.row_unit);
        if (for_data) width_ = std::max(width_, round_up(shape.width, split.row_unit) + shape.kernel_w - 1);
    }
    for (Index band = 0; band < split.bands; ++band) {
        const Item item{0, 1, band, split.bands, split.row_unit};
        rows_per_image_ = std::max(rows_per_image_, end_row(item) - first_row(item));
    }
    block_floats_ = split.max_images() * rows_per_image_ * row_floats();
}

Index GradientScratch::first_row(const Item& item) const {
    const Index own = item.row_begin(shape_.out_height());
    if (!for_data_) return own;
    const Index top = item.row_begin(shape_.height) + shape_.pad - (shape_.kernel_h - 1);
    return std::min(own, floor_divide(top, shape_.stride));
}

Index GradientScratch::end_row(const Item& item) const {
    const auto whole_end = [&](Index rows) {
        return item.row_begin(rows) + round_up(item.row_end(rows) - item.row_begin(rows), item.row_unit);
    };
    const Index own = whole_end(shape_.out_height());
    if (!for_data_) return own;
    return std::max(own, floor_divide(whole_end(shape_.height) - 1 + shape_.pad, shape_.stride) + 1);
}

void GradientScratch::fill(const Item& item, const GradientSource& source, float* scratch) const {
    const Index channels = shape_.out_channels, out_width = shape_.out_width(),
                right = width_ - left_ - out_width;
    GradientFill fill;
    fill.pixels = out_width;
    fill.channels = channels;
    fill.block = blocks_.size;
    fill.target_block = block_floats_;
    fill.a = source.a;
    fill.b = source.b;
    fill.c = source.c;
    for (Index image = 0; image < item.images(); ++image) {
        for (Index p = first_row(item); p < end_row(item); ++p) {
            float* inner = scratch + row_offset(item, image, p);
            const bool inside = p >= 0 && p < shape_.out_height();
            for (Index block = 0; block < blocks_.count; ++block) {
                float* row = inner + block * block_floats_;
                zero_floats(row - left_ * blocks_.size, (left_ + (inside ? 0 : out_width)) * blocks_.size);
                zero_floats(row + out_width * blocks_.size, right * blocks_.size);
            }
            if (!inside) continue;
            const Index at = ((item.image_begin + image) * shape_.out_height() + p) * out_width * channels;
            fill.g = {element(source.g, source.g_type, at), source.g_type, channels};
            if (source.a != nullptr) fill.y = {element(source.y, source.y_type, at), source.y_type, channels};
            fill.target = inner;
            conv_passes().fill_gradient(fill);
        }
    }
}

}  // namespace mpt::cpu
