#include "backends/cpu/conv_winograd.h"

#include <algorithm>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/threads.h"

namespace mpt::cpu {
namespace {

// Floats of one chunk's products: about half of a 1 MiB L2, and never more tiles than the kernels like.
constexpr Index kChunkFloats = 96 * 1024;
constexpr Index kMaxTiles = 64;

const void* weight_at(const void* w, DType type, Index index) {
    return static_cast<const char*>(w) + index * static_cast<Index>(size_of(type));
}

}  // namespace

const WinogradPasses& winograd_passes() {
    return instruction_set() == InstructionSet::kAvx512 ? kWinogradPassesAvx512 : kWinogradPassesAvx2;
}

bool winograd_possible(const ConvShape& s) {
    return s.kernel_h == 3 && s.kernel_w == 3 && s.stride == 1 && InputView::of(s).mode == InputMode::kPlain;
}

bool winograd_faster(const ConvShape& s) {
    return winograd_possible(s) && s.in_channels >= 16 && s.out_channels >= 16 && s.out_height() >= 6 &&
           s.out_width() >= 6;
}

bool winograd_chosen(WinogradUse use, const ConvShape& shape) {
    switch (use) {
        case WinogradUse::kNever:
            return false;
        case WinogradUse::kWherePossible:
            return winograd_possible(shape);
        case WinogradUse::kWhereFaster:
            return winograd_faster(shape);
    }
    return false;
}

std::string engine_description(bool winograd) {
    return std::string(winograd ? "xsmm winograd F(2x2,3x3) " : "xsmm direct ") +
           (instruction_set() == InstructionSet::kAvx512 ? "avx512" : "avx2");
}

TileGrid::TileGrid(Index rows_, Index columns_, Index floats_per_tile, Index tiles)
    : rows(rows_), columns(columns_), tiles_per_row(divide_up(columns_, 2)) {
    const Index fit = std::max<Index>(kChunkFloats / floats_per_tile, 24);
    chunk_rows = std::max<Index>(1, std::min(fit, tiles) / tiles_per_row);
}

std::vector<Index> TileGrid::chunk_sizes(const ItemSplit& split) const {
    std::vector<Index> sizes;
    for (Index i = 0; i < split.count(); ++i) {
        const Item item = split.item(i);
        const Index all = item.images() * tile_rows(item);
        for (const Index size : {std::min(all, chunk_rows), all % chunk_rows})
            if (size > 0 && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
    }
    return sizes;
}

WinogradProduct::WinogradProduct(const Blocking& in, const Blocking& out, Index rows, Index columns,
                                 const ItemSplit& split)
    : in_(in), out_(out), weights_{out, in, kWinogradProducts} {
    grid_ = TileGrid(rows, columns, kWinogradProducts * (in.padded() + out.size), kMaxTiles);
    kernels_.resize(static_cast<std::size_t>(grid_.chunk_rows) + 1);
    for (const Index size : grid_.chunk_sizes(split))
        kernels_[static_cast<std::size_t>(size)] = BatchKernel(KernelShape{
            out.size, size * grid_.tiles_per_row, in.size, out.size, in.size, out.size, false, false});
    for (Index block = 0; block < in.count; ++block) {
        const Index v = block * kWinogradProducts * grid_.max_tiles() * in.size;
        a_offsets_.push_back(static_cast<BatchKernel::Offset>(block * weights_.tile_floats() * 4));
        b_offsets_.push_back(static_cast<BatchKernel::Offset>(v * 4));
    }
}

Index WinogradProduct::scratch_floats() const {
    const Index tiles = grid_.max_tiles();
    return kWinogradProducts * tiles * (in_.padded() + out_.size) +
           2 * grid_.chunk_rows * grid_.columns * out_.size;
}

void WinogradProduct::multiply(const float* packed, Index block, Index chunk, const float* v,
                               float* m) const {
    const BatchKernel& kernel = kernels_[static_cast<std::size_t>(chunk)];
    const float* u = packed + weights_.tile(block, 0, 0);
    for (Index product = 0; product < kWinogradProducts; ++product)
        kernel(u + product * in_.count * weights_.tile_floats(), v + product * grid_.max_tiles() * in_.size,
               m + product * grid_.max_tiles() * out_.size, a_offsets_.size(), a_offsets_.data(),
               b_offsets_.data());
}

WinogradWeightGradient::WinogradWeightGradient(const ConvShape& shape, const ItemSplit& split)
    : shape_(shape),
      weights_{Blocking::of(shape.out_channels), Blocking::of(shape.in_channels), kWinogradProducts} {
    const Index in = weights_.input.size, out = weights_.output.size;
    grid_ = TileGrid(shape.out_height(), shape.out_width(),
                     kWinogradProducts * (weights_.input.padded() + weights_.output.padded()), kMaxTiles);
    overwrite_.resize(static_cast<std::size_t>(grid_.chunk_rows) + 1);
    add_.resize(overwrite_.size());
    for (const Index size : grid_.chunk_sizes(split)) {
        KernelShape kernel{in, out, size * grid_.tiles_per_row, in, out, in, false, true};
        overwrite_[static_cast<std::size_t>(size)] = ProductKernel(kernel);
        kernel.accumulate = true;
        add_[static_cast<std::size_t>(size)] = ProductKernel(kernel);
    }
}

Index WinogradWeightGradient::scratch_floats() const {
    return kWinogradProducts * grid_.max_tiles() * (weights_.input.padded() + weights_.output.padded());
}

void WinogradWeightGradient::run(const Item& item, const InputScratch& input, const float* x,
                                 const GradientScratch& gradient, const float* dy, float* scratch,
                                 float* partial, Accumulate start) const {
    const Blocking &in = weights_.input, &out = weights_.output;
    const TileRow x_row{grid_.tiles_per_row, in.size, input.row_floats(), grid_.max_tiles() * in.size};
    const TileRow dy_row{grid_.tiles_per_row, out.size, gradient.row_floats(), grid_.max_tiles() * out.size};
    float* v = scratch;
    float* d = v + kWinogradProducts * in.count * x_row.product;
    const Index first = item.row_begin(grid_.rows), tile_rows = grid_.tile_rows(item);
    const Index all_rows = item.images() * tile_rows;
    for (Index begin = 0; begin < all_rows; begin += grid_.chunk_rows) {
        const Index chunk = std::min(grid_.chunk_rows, all_rows - begin);
        for (Index i = 0; i < chunk; ++i) {
            const Index image = (begin + i) / tile_rows, row = first + (begin + i) % tile_rows * 2;
            const Index tile = i * grid_.tiles_per_row;
            for (Index c = 0; c < in.count; ++c)
                winograd_passes().transform_input(
                    x_row, x + c * input.block_floats() + input.row_offset(item, image, row),
                    v + c * kWinogradProducts * x_row.product + tile * in.size);
            for (Index k = 0; k < out.count; ++k)
                winograd_passes().transform_gradient(
                    dy_row, dy + k * gradient.block_floats() + gradient.row_offset(item, image, row),
                    d + k * kWinogradProducts * dy_row.product + tile * out.size);
        }
        const bool add = begin > 0 || start == Accumulate::kAdd;
        const ProductKernel& kernel = (add ? add_ : overwrite_)[static_cast<std::size_t>(chunk)];
        for (Index k = 0; k < out.count; ++k)
            for (Index c = 0; c < in.count; ++c)
                for (Index product = 0; product < kWinogradProducts; ++product)
                    kernel(v + (c * kWinogradProducts + product) * x_row.product,
                           d + (k * kWinogradProducts + product) * dy_row.product,
                           partial + weights_.tile(k, c, product));
    }
}

void WinogradWeightGradient::add(float* dw, const float* partials, int num_partials, int thread,
                                 int num_threads) const {
    const Blocking &out = weights_.output, &in = weights_.input;
    const Range mine = share_of(out.channels, thread, num_threads);
    for (Index k = mine.begin; k < mine.end; ++k)
        for (Index c = 0; c < in.count; ++c)
            winograd_passes().add_weight_gradient(
                partials + weights_.tile(k / out.size, c, 0) + k % out.size * in.size, weights_.tile_floats(),
                num_partials, weights_.floats(), in.valid(c), dw + k * 9 * in.channels + c * in.size,
                in.channels);
}

// Squares of 16 x 16 channels: the transform works along C, the kernels want K innermost.
void pack_winograd_forward(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                           int num_threads) {
    constexpr Index n = kCacheLineFloats;
    const Blocking &out = layout.output, &in = layout.input;
    alignas(64) float square[kWinogradProducts][n][n];
    const Index c_squares = in.padded() / n;
    const Range squares = share_of(out.padded() / n * c_squares, thread, num_threads);
    for (Index i = squares.begin; i < squares.end; ++i) {
        const Index k0 = i / c_squares * n, c0 = i % c_squares * n;
        for (Index k = 0; k < n; ++k) {
            const bool exists = k0 + k < out.channels;
            const Index channels = exists ? std::clamp<Index>(in.channels - c0, 0, n) : 0;
            const Index at = exists ? (k0 + k) * 9 * in.channels + c0 : 0;
            winograd_passes().transform_weights(weight_at(w, type, at), type, in.channels, channels, false,
                                                &square[0][k][0], n * n);
        }
        for (Index product = 0; product < kWinogradProducts; ++product) {
            const Index tile = (k0 / out.size * kWinogradProducts + product) * in.count + c0 / in.size;
            float* target = packed + tile * layout.tile_floats() + c0 % in.size * out.size + k0 % out.size;
            const PixelRun source{&square[product][0][0], DType::f32, n};
            conv_passes().pack_transposed(source, n, n, target, out.size);
        }
    }
}

void pack_winograd_backward(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                            int num_threads) {
    constexpr Index n = kCacheLineFloats;
    const Blocking &out = layout.output, &in = layout.input;  // C and K
    const Range rows = share_of(in.padded(), thread, num_threads);
    for (Index k = rows.begin; k < rows.end; ++k) {
        for (Index c = 0; c < out.padded(); c += n) {
            const bool exists = k < in.channels;
            const Index channels = exists ? std::clamp<Index>(out.channels - c, 0, n) : 0;
            const Index tile = c / out.size * kWinogradProducts * in.count + k / in.size;
            float* target = packed + tile * layout.tile_floats() + k % in.size * out.size + c % out.size;
            winograd_passes().transform_weights(weight_at(w, type, exists ? k * 9 * out.channels + c : 0),
                                                type, out.channels, channels, true, target,
                                                in.count * layout.tile_floats());
        }
    }
}

}  // namespace mpt::cpu
