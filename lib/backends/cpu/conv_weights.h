// Weights between their storage [K][taps][C] and the blocks that the micro-kernels read and write.
#pragma once

#include "backends/cpu/conv_geometry.h"

namespace mpt::cpu {

// Tiles [output block][input block][tap], each of input.size x output.size floats.
struct WeightLayout {
    Blocking output, input;
    Index taps = 0;
    Index tile_floats() const { return output.size * input.size; }
    Index tile(Index output_block, Index input_block, Index tap) const {
        return ((output_block * input.count + input_block) * taps + tap) * tile_floats();
    }
    Index block_floats() const { return tile(1, 0, 0); }  // of one output block
    Index floats() const { return tile(output.count, 0, 0); }
};

enum class Accumulate : bool { kOverwrite, kAdd };

// Each thread packs its share. Forward: tile[c][k], `output` is K and `input` is C.
void pack_forward_weights(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                          int num_threads);
// Data gradient: tile[k][c], `output` is C and `input` is K.
void pack_backward_weights(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                           int num_threads);
// dw[K][taps][C] += partials of `num_partials` threads in thread order; a partial's tile is [k][c], `output`
// is K.
void add_weight_gradients(const WeightLayout& layout, float* dw, const float* partials, Index partial_floats,
                          int num_partials, int thread, int num_threads);

}  // namespace mpt::cpu
