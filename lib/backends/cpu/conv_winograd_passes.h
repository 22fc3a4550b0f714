// Transforms of Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2016) on blocked f32 scratch, vectorised over channels. A tile of 2x2 outputs needs 4x4 inputs; the sixteen
// products are numbered row by row. Compiled once for AVX2 and once for AVX-512.
#pragma once

#include <cstddef>

#include "backends/cpu/conv_passes.h"

namespace mpt::cpu {

// One row of tiles: `tiles` tiles, two pixels apart, of `block` channels.
struct TileRow {
    std::ptrdiff_t tiles = 0, block = 0;
    std::ptrdiff_t row = 0;      // floats between rows of pixels
    std::ptrdiff_t product = 0;  // floats between the tiles' products
};

struct WinogradPasses {
    // products = B^T d B of 4x4 pixels
    void (*transform_input)(const TileRow&, const float* pixels, float* products);
    // products = A d A^T of 2x2 pixels: the adjoint of transform_output
    void (*transform_gradient)(const TileRow&, const float* pixels, float* products);
    // pixels = A^T m A, of which rows (1 or 2) and columns (at most 2 * tiles) exist
    void (*transform_output)(const TileRow&, const float* products, float* pixels, std::ptrdiff_t rows,
                             std::ptrdiff_t columns);
    // G w G^T of `channels` (at most 16) channels of a 3x3 filter, `tap` elements between taps; taps in
    // order, or turned by half a circle for the data gradient. Sixteen products of 16 floats each, zero past
    // the channels.
    void (*transform_weights)(const void* w, DType type, std::ptrdiff_t tap, std::ptrdiff_t channels,
                              bool turned, float* products, std::ptrdiff_t product);
    // dw += G^T u G for `channels` channels; u is the sum over `count` partials in order.
    void (*add_weight_gradient)(const float* partials, std::ptrdiff_t product, int count,
                                std::ptrdiff_t partial, std::ptrdiff_t channels, float* dw,
                                std::ptrdiff_t tap);
};

const WinogradPasses& winograd_passes();

extern const WinogradPasses kWinogradPassesAvx2;
extern const WinogradPasses kWinogradPassesAvx512;

}  // namespace mpt::cpu
