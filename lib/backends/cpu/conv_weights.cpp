#include "backends/cpu/conv_weights.h"

#include <algorithm>

#include "backends/cpu/conv_passes.h"
#include "backends/cpu/threads.h"

namespace mpt::cpu {
namespace {

const void* weight_at(const void* w, DType type, Index index) {
    return static_cast<const char*>(w) + index * static_cast<Index>(size_of(type));
}

}  // namespace

void pack_forward_weights(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                          int num_threads) {
    const Blocking &out = layout.output, &in = layout.input;
    const Range tiles = share_of(out.count * in.count * layout.taps, thread, num_threads);
    for (Index i = tiles.begin; i < tiles.end; ++i) {
        const Index tap = i % layout.taps, c = i / layout.taps % in.count, k = i / layout.taps / in.count;
        float* tile = packed + layout.tile(k, c, tap);
        const Index at = (k * out.size * layout.taps + tap) * in.channels + c * in.size;
        const PixelRun source{weight_at(w, type, at), type, layout.taps * in.channels};
        conv_passes().pack_transposed(source, out.valid(k), in.valid(c), tile, out.size);
        std::fill(tile + in.valid(c) * out.size, tile + layout.tile_floats(), 0.0f);
    }
}

void pack_backward_weights(const WeightLayout& layout, const void* w, DType type, float* packed, int thread,
                           int num_threads) {
    const Blocking &out = layout.output, &in = layout.input;  // C and K
    const Range tiles = share_of(out.count * in.count * layout.taps, thread, num_threads);
    for (Index i = tiles.begin; i < tiles.end; ++i) {
        const Index tap = i % layout.taps, k = i / layout.taps % in.count, c = i / layout.taps / in.count;
        InputFill fill;
        const Index at = (k * in.size * layout.taps + tap) * out.channels + c * out.size;
        fill.source = {weight_at(w, type, at), type, layout.taps * out.channels};
        fill.pixels = in.valid(k);
        fill.channels = out.valid(c);
        fill.target = packed + layout.tile(c, k, tap);
        fill.block = out.size;
        conv_passes().fill_input(fill);
        std::fill(fill.target + fill.pixels * out.size, fill.target + layout.tile_floats(), 0.0f);
    }
}

void add_weight_gradients(const WeightLayout& layout, float* dw, const float* partials, Index partial_floats,
                          int num_partials, int thread, int num_threads) {
    const Blocking &out = layout.output, &in = layout.input;
    const Range mine = share_of(out.channels, thread, num_threads);
    for (Index k = mine.begin; k < mine.end; ++k) {
        for (Index tap = 0; tap < layout.taps; ++tap) {
            for (Index c = 0; c < in.count; ++c) {
                float* target = dw + (k * layout.taps + tap) * in.channels + c * in.size;
                const float* part = partials + layout.tile(k / out.size, c, tap) + k % out.size * in.size;
                conv_passes().add_partials(target, part, in.valid(c), num_partials, partial_floats);
            }
        }
    }
}

}  // namespace mpt::cpu
