// Element-wise work round the micro-kernels, one row or tile at a time: NHWC storage (f32, f16, bf16) on one
// side, blocked f32 scratch on the other. Compiled once for AVX2 and once for AVX-512.
//
// Blocked scratch: [channels / block][...][pixels][block], block a multiple of 16; lanes past the last
// channel are written as zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace mpt::cpu {

// A run of pixels of an NHWC tensor: `pixel` elements lie between one pixel and the next.
struct PixelRun {
    const void* data = nullptr;
    DType type = DType::f32;
    std::ptrdiff_t pixel = 0;
};

// target = scale * source + shift, then max(0, .). scale null: no affine.
struct InputFill {
    PixelRun source;
    std::ptrdiff_t pixels = 0, channels = 0;
    float* target = nullptr;
    std::ptrdiff_t block = 0, target_block = 0;  // floats in a block, floats between blocks
    const float* scale = nullptr;
    const float* shift = nullptr;
    bool relu = false;
};

// target = a * g + b * y + c. a null: target = g.
struct GradientFill {
    PixelRun g, y;
    std::ptrdiff_t pixels = 0, channels = 0;
    float* target = nullptr;
    std::ptrdiff_t block = 0, target_block = 0;
    const float* a = nullptr;
    const float* b = nullptr;
    const float* c = nullptr;
};

// Stores one channel block of a tile [pixels][block] and adds sums of what was stored.
struct OutputStore {
    const float* tile = nullptr;
    std::ptrdiff_t pixels = 0, block = 0, channels = 0;  // channels: those of this block that exist
    void* y = nullptr;
    DType type = DType::f32;
    std::ptrdiff_t pixel = 0;
    bool stream = false;    // past the caches; the caller fences
    double* sum = nullptr;  // [channels]; null: no statistics
    double* square_sum = nullptr;
};

// dx = mask(tile + addend), and reductions. Null pointers switch parts off.
struct GradientStore {
    const float* tile = nullptr;
    std::ptrdiff_t pixels = 0, block = 0, channels = 0;
    std::ptrdiff_t pixel = 0;  // elements between pixels, the same for all tensors
    void* dx = nullptr;
    bool stream = false;  // past the caches; the caller fences
    const void* addend = nullptr;
    const void* mask = nullptr;  // keep where mask (or scale * mask + shift) > 0
    const float* scale = nullptr;
    const float* shift = nullptr;
    const void* references[2] = {nullptr, nullptr};
    DType dx_type = DType::f32, addend_type = DType::f32, mask_type = DType::f32, reference_type = DType::f32;
    double* sums[3] = {nullptr, nullptr, nullptr};  // of dx, dx * reference 0, dx * reference 1
};

struct ConvPasses {
    void (*fill_input)(const InputFill&);
    void (*fill_gradient)(const GradientFill&);
    void (*store_output)(const OutputStore&);
    void (*store_gradient)(const GradientStore&);
    // [rows][columns] f32/f16/bf16 to target[columns][target_row] f32, rows filled up with zeros to whole
    // cache lines.
    void (*pack_transposed)(const PixelRun& source, std::ptrdiff_t rows, std::ptrdiff_t columns,
                            float* target, std::ptrdiff_t target_row);
    // target[i] += a[i] + ... over `count` partials that lie `stride` floats apart, added in order.
    void (*add_partials)(float* target, const float* partials, std::ptrdiff_t elements, int count,
                         std::ptrdiff_t stride);
};

// For the present machine; MPT_CHECKs that it has AVX2.
const ConvPasses& conv_passes();

extern const ConvPasses kConvPassesAvx2;
extern const ConvPasses kConvPassesAvx512;

}  // namespace mpt::cpu
