// F(2x2, 3x3) round the micro-kernels: sixteen products a tile instead of thirty-six. All three directions
// work on chunks of tile rows of one item, whose products stay in cache:
//   forward and data gradient   M[16][tiles][out] = V[16][tiles][in] * U[16][in][out], 16 products for each
//   output block weight gradient             dU[16][out][in] += D[16][tiles][out]^T * V[16][tiles][in],
//   transformed back once at the end
#pragma once

#include <string>
#include <vector>

#include "backends/cpu/conv_scratch.h"
#include "backends/cpu/conv_weights.h"
#include "backends/cpu/conv_winograd_passes.h"
#include "backends/cpu/conv_xsmm.h"

namespace mpt::cpu {

constexpr Index kWinogradProducts = 16;

// True where F(2x2, 3x3) can be used, and where it is faster than the direct convolution.
bool winograd_possible(const ConvShape& shape);
bool winograd_faster(const ConvShape& shape);
bool winograd_chosen(WinogradUse use, const ConvShape& shape);
// "xsmm winograd F(2x2,3x3) avx512"
std::string engine_description(bool winograd);

// Scratch of an item: small, since the chunk's products need most of the cache, unless the transformed
// weights are beyond all caches but the last, and streaming them is what counts.
constexpr Index winograd_scratch_bytes(const ConvShape& shape) {
    const Index weights = kWinogradProducts * shape.in_channels * shape.out_channels * 4;
    return weights > 8 * 1024 * 1024 ? 1024 * 1024 : 256 * 1024;
}

// Tile rows of an item, numbered through its images, and taken `chunk_rows` at a time.
struct TileGrid {
    Index rows = 0, columns = 0;  // pixels of the tiled image
    Index tiles_per_row = 0, chunk_rows = 0;
    TileGrid() = default;
    TileGrid(Index rows, Index columns, Index floats_per_tile, Index max_tiles);
    Index max_tiles() const { return chunk_rows * tiles_per_row; }
    Index tile_rows(const Item& item) const {
        return divide_up(item.row_end(rows) - item.row_begin(rows), 2);
    }
    // Sizes that chunks of the split's items take, each once.
    std::vector<Index> chunk_sizes(const ItemSplit& split) const;
};

class WinogradProduct {
  public:
    WinogradProduct() = default;
    // `rows` x `columns` is the size of the result.
    WinogradProduct(const Blocking& in, const Blocking& out, Index rows, Index columns,
                    const ItemSplit& split);

    const WeightLayout& weights() const { return weights_; }  // taps: the sixteen products
    Index scratch_floats() const;
    // For each chunk and output block, `store(block, image, row, rows, tile)` gets `rows` rows of result,
    // numbered from `row` of the item's image number `image` on through the following images. `pixels(image,
    // row, block)` is the top left input pixel of the tile row that begins at result row `row` of the item.
    template <class Pixels, class Store>
    void run(const Item& item, Index pixel_row_floats, const float* packed, float* scratch,
             const Pixels& pixels, const Store& store) const;

  private:
    void multiply(const float* packed, Index block, Index chunk, const float* v, float* m) const;

    Blocking in_, out_;
    WeightLayout weights_;
    TileGrid grid_;
    std::vector<BatchKernel> kernels_;  // by number of tile rows
    std::vector<BatchKernel::Offset> a_offsets_, b_offsets_;
};

class WinogradWeightGradient {
  public:
    WinogradWeightGradient() = default;
    WinogradWeightGradient(const ConvShape& shape, const ItemSplit& split);

    const WeightLayout& weights() const { return weights_; }
    Index scratch_floats() const;
    void run(const Item& item, const InputScratch& input, const float* x, const GradientScratch& gradient,
             const float* dy, float* scratch, float* partial, Accumulate start) const;
    void add(float* dw, const float* partials, int num_partials, int thread, int num_threads) const;

  private:
    ConvShape shape_;
    WeightLayout weights_;
    TileGrid grid_;
    std::vector<ProductKernel> overwrite_, add_;  // by number of tile rows
};

// Packed in the layout of WinogradProduct::weights(), [output block][product][input block].
void pack_winograd_forward(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                           int num_threads);
void pack_winograd_backward(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                            int num_threads);

template <class Pixels, class Store>
void WinogradProduct::run(const Item& item, Index pixel_row_floats, const float* packed, float* scratch,
                          const Pixels& pixels, const Store& store) const {
    float* v = scratch;
    float* m = v + kWinogradProducts * grid_.max_tiles() * in_.padded();
    float* tile = m + kWinogradProducts * grid_.max_tiles() * out_.size;
    const Index first = item.row_begin(grid_.rows), end = item.row_end(grid_.rows);
    const Index tile_rows = grid_.tile_rows(item), all_rows = item.images() * tile_rows;
    for (Index begin = 0; begin < all_rows; begin += grid_.chunk_rows) {
        const Index chunk = std::min(grid_.chunk_rows, all_rows - begin);
        TileRow in_row{grid_.tiles_per_row, in_.size, pixel_row_floats, grid_.max_tiles() * in_.size};
        for (Index block = 0; block < in_.count; ++block)
            for (Index i = 0; i < chunk; ++i)
                winograd_passes().transform_input(
                    in_row, pixels((begin + i) / tile_rows, first + (begin + i) % tile_rows * 2, block),
                    v + block * kWinogradProducts * in_row.product + i * grid_.tiles_per_row * in_.size);
        TileRow out_row{grid_.tiles_per_row, out_.size, grid_.columns * out_.size,
                        grid_.max_tiles() * out_.size};
        for (Index block = 0; block < out_.count; ++block) {
            multiply(packed, block, chunk, v, m);
            Index rows = 0;
            for (Index i = 0; i < chunk; ++i) {
                const Index exist = std::min<Index>(2, end - first - (begin + i) % tile_rows * 2);
                winograd_passes().transform_output(out_row, m + i * grid_.tiles_per_row * out_.size,
                                                   tile + rows * out_row.row, exist, grid_.columns);
                rows += exist;
            }
            store(block, begin / tile_rows, first + begin % tile_rows * 2, rows, tile);
        }
    }
}

}  // namespace mpt::cpu
