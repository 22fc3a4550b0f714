// Antialiased bilinear resizing: a triangle as wide as two output pixels (at least two input pixels), as PIL
// and torchvision define it. Values are within 1/255 of PIL's, which rounds to 8 bits between its two passes.
#pragma once

#include <cstdint>
#include <vector>

#include "dataset/pictures/picture.h"

namespace mpt {

// The input pixels and weights of each output pixel along one axis. Weights are 14-bit fractions that add up
// to one exactly, in pairs: an odd number of taps has a last weight of 0.
struct ResizeTaps {
    struct Window {
        std::int32_t first = 0, count = 0;  // input pixels
    };
    std::vector<Window> windows;
    std::vector<std::int16_t> weights;  // (windows, stride)
    std::int64_t stride = 0;
    const std::int16_t* weights_of(std::int64_t i) const { return weights.data() + i * stride; }
};
constexpr int kWeightBits = 14;

// Of `output` pixels over [begin, begin + length) of `input` pixels.
void make_taps(std::int64_t input, double begin, double length, std::int64_t output, ResizeTaps& taps);

// One thread's buffers.
class Resizer {
  public:
    // out: packed u8 (height, width, in.channels). Equal sizes copy.
    void resize(const PictureView& in, const Area& area, std::int64_t height, std::int64_t width,
                std::uint8_t* out);

  private:
    ResizeTaps rows_, columns_;
    std::vector<std::int16_t> lines_;  // two rows between the passes
};

// The passes over one pair of output rows, plain and for AVX2. Between them, values have 7 fraction bits.
constexpr int kLineBits = 7;
// Pixels of padding a line needs behind its last one.
constexpr std::int64_t kLinePadding = 8;
struct ResizeKernels {
    // `bytes` values of a row: the weighted sum of the window's rows.
    void (*vertical)(const std::uint8_t* first_row, std::int64_t stride, const std::int16_t* weights,
                     std::int64_t count, std::int64_t bytes, std::int16_t* line);
    // Two lines of 3 channels into two output rows; nullptr: not there.
    void (*horizontal3)(const std::int16_t* line0, const std::int16_t* line1, const ResizeTaps& taps,
                        std::uint8_t* out0, std::uint8_t* out1);
};
ResizeKernels resize_kernels_avx2();
bool has_avx2();

}  // namespace mpt
