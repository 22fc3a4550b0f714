#include "backends/cpu/conv_backward_data.h"

#include <algorithm>
#include <cstring>

namespace mpt::cpu {
namespace {

constexpr Index kCallPixels = 128, kTilePixels = 64, kLargeTilePixels = 256;
constexpr Index kSmallWeightBytes = 128 * 1024;

const void* element(const void* data, DType type, Index index) {
    return data == nullptr ? nullptr
                           : static_cast<const char*>(data) + index * static_cast<Index>(size_of(type));
}

}  // namespace

DataGradient::DataGradient(const ConvBackwardSpec& spec, const GradientScratch& gradient,
                           const ItemSplit& split, bool winograd)
    : spec_(spec), shape_(spec.shape), winograd_(winograd) {
    if (winograd_) {
        product_ = WinogradProduct(gradient.blocks(), Blocking::of(shape_.in_channels), shape_.height,
                                   shape_.width, split);
        weights_ = product_.weights();
        return;
    }
    weights_ = {Blocking::of(shape_.in_channels), gradient.blocks(), shape_.kernel_h * shape_.kernel_w};
    for (Index h = 0; h < shape_.stride; ++h)
        for (Index w = 0; w < shape_.stride; ++w) classes_.push_back(make_class(gradient, h, w));
    const bool few_weights = weights_.block_floats() * 4 <= kSmallWeightBytes;
    tile_rows_ = std::max<Index>(1, (few_weights ? kTilePixels : kLargeTilePixels) / shape_.width);
}

DataGradient::Class DataGradient::make_class(const GradientScratch& gradient, Index remainder_h,
                                             Index remainder_w) const {
    struct Tap {
        Index index, row, column;
    };
    std::vector<Tap> taps;
    for (Index r = 0; r < shape_.kernel_h; ++r) {
        for (Index s = 0; s < shape_.kernel_w; ++s) {
            const Index row = remainder_h + shape_.pad - r, column = remainder_w + shape_.pad - s;
            if (row % shape_.stride != 0 || column % shape_.stride != 0) continue;
            taps.push_back({r * shape_.kernel_w + s, row / shape_.stride, column / shape_.stride});
        }
    }
    Class result;
    result.remainder_w = remainder_w;
    const Index columns = divide_up(shape_.width - remainder_w, shape_.stride);
    if (taps.empty() || columns <= 0) return result;
    result.first_row = taps[0].row;
    result.first_column = taps[0].column;
    for (const Tap& tap : taps) {
        result.first_row = std::min(result.first_row, tap.row);
        result.first_column = std::min(result.first_column, tap.column);
    }
    const Index c_size = weights_.output.size, k_size = weights_.input.size;
    result.segments = segments_of(columns, kCallPixels);
    for (const Segment& segment : result.segments)
        result.kernels.emplace_back(KernelShape{c_size, segment.pixels, k_size, c_size, k_size,
                                                shape_.stride * c_size, false, false});
    for (Index block = 0; block < weights_.input.count; ++block) {
        for (const Tap& tap : taps) {
            const Index b = block * gradient.block_floats() +
                            (tap.row - result.first_row) * gradient.row_floats() +
                            (tap.column - result.first_column) * k_size;
            result.a_offsets.push_back(
                static_cast<BatchKernel::Offset>(weights_.tile(0, block, tap.index) * 4));
            result.b_offsets.push_back(static_cast<BatchKernel::Offset>(b * 4));
        }
    }
    return result;
}

void DataGradient::run_row(const GradientScratch& gradient, const Item& item, const float* scratch,
                           const float* packed, Index image, Index h, float* target) const {
    const Index c_size = weights_.output.size, k_size = weights_.input.size;
    const Index first_class = h % shape_.stride * shape_.stride;
    for (Index w = 0; w < shape_.stride; ++w) {
        const Class& part = classes_[static_cast<std::size_t>(first_class + w)];
        if (part.kernels.empty()) {
            for (Index x = w; x < shape_.width; x += shape_.stride)
                std::fill_n(target + x * c_size, c_size, 0.0f);
            continue;
        }
        const float* line = scratch + gradient.row_offset(item, image, part.first_row + h / shape_.stride) +
                            part.first_column * k_size;
        for (std::size_t j = 0; j < part.segments.size(); ++j) {
            const Index begin = part.segments[j].begin;
            part.kernels[j](packed, line + begin * k_size, target + (w + begin * shape_.stride) * c_size,
                            part.a_offsets.size(), part.a_offsets.data(), part.b_offsets.data());
        }
    }
}

void DataGradient::store_rows(const ConvBackwardArgs& args, Index block, Index image, Index row, Index rows,
                              const float* tile, double* sums) const {
    const Index channels = shape_.in_channels, c = block * weights_.output.size;
    const Index at = (image * shape_.height + row) * shape_.width * channels + c;
    GradientStore store;
    store.tile = tile;
    store.pixels = rows * shape_.width;
    store.block = weights_.output.size;
    store.channels = weights_.output.valid(block);
    store.pixel = channels;
    store.dx = static_cast<char*>(args.dx) + at * static_cast<Index>(size_of(spec_.dx));
    store.dx_type = spec_.dx;
    store.stream = streams();
    store.addend_type = spec_.addend;
    store.mask_type = spec_.x;
    store.reference_type = spec_.reference;
    if (spec_.add) store.addend = element(args.addend, spec_.addend, at);
    if (spec_.mask != ReluMask::kNone) store.mask = element(args.x, spec_.x, at);
    if (spec_.mask == ReluMask::kInputAffine) {
        store.scale = args.scale + c;
        store.shift = args.shift + c;
    }
    for (int i = 0; spec_.reductions && i <= spec_.num_references; ++i)
        store.sums[i] = sums + i * channels + c;
    for (int i = 0; spec_.reductions && i < spec_.num_references; ++i)
        store.references[i] = element(args.references[i], spec_.reference, at);
    conv_passes().store_gradient(store);
}

void DataGradient::run(const ConvBackwardArgs& args, const Item& item, const GradientScratch& gradient,
                       const float* scratch, const float* packed, float* tile, double* sums) const {
    if (!winograd_) return run_direct(args, item, gradient, scratch, packed, tile, sums);
    // The turned filter's padding: result pixel h begins at gradient pixel h - before.
    const Index before = shape_.kernel_h - 1 - shape_.pad;
    product_.run(
        item, gradient.row_floats(), packed, tile,
        [&](Index image, Index row, Index block) {
            return scratch + block * gradient.block_floats() +
                   gradient.row_offset(item, image, row - before) - before * gradient.blocks().size;
        },
        [&](Index block, Index image, Index row, Index rows, const float* result) {
            store_rows(args, block, item.image_begin + image, row, rows, result, sums);
        });
}

void DataGradient::run_direct(const ConvBackwardArgs& args, const Item& item, const GradientScratch& gradient,
                              const float* scratch, const float* packed, float* tile, double* sums) const {
    const Index first = item.row_begin(shape_.height), height = item.row_end(shape_.height) - first;
    const Index rows = item.images() * height, row_floats = shape_.width * weights_.output.size;
    for (Index block = 0; block < weights_.output.count; ++block) {
        const float* block_weights = packed + weights_.tile(block, 0, 0);
        for (Index row = 0; row < rows; row += tile_rows_) {
            const Index count = std::min(tile_rows_, rows - row);
            for (Index i = 0; i < count; ++i)
                run_row(gradient, item, scratch, block_weights, (row + i) / height,
                        first + (row + i) % height, tile + i * row_floats);
            store_rows(args, block, item.image_begin, first + row, count, tile, sums);
        }
    }
}

}  // namespace mpt::cpu
