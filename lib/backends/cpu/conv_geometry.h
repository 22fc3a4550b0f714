// How a fused convolution is cut into pieces: channel blocks, items of work that fit a core's cache, and the
// view through which the micro-kernels see the input. Decided once, at construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/conv_engine.h"

namespace mpt::cpu {

using Index = std::int64_t;

constexpr Index kCacheLineFloats = 16;
// Scratch that a core works on at a time: what an L2 of 512 KiB or 1 MiB holds beside the weights; more when
// these are large, because every item streams all of them.
constexpr Index kScratchBytes = 384 * 1024, kMaxScratchBytes = 2 * 1024 * 1024;
constexpr Index scratch_bytes_for(Index weights) {
    return std::clamp<Index>(weights * 4, kScratchBytes, kMaxScratchBytes);
}

constexpr Index round_up(Index value, Index unit) {
    return (value + unit - 1) / unit * unit;
}
constexpr Index divide_up(Index value, Index unit) {
    return (value + unit - 1) / unit;
}

// Channels in blocks of `size` (16, 32, 48 or 64); the last block may be partly empty.
struct Blocking {
    Index channels = 0, size = 0, count = 0;
    static Blocking of(Index channels);
    Index padded() const { return size * count; }
    Index valid(Index block) const;  // channels of this block that exist
};

// One item of work: whole images, or a band of rows of one image, as shares of any number of rows.
struct Item {
    Index image_begin = 0, image_end = 0;
    Index band = 0, bands = 1, row_unit = 1;
    Index images() const { return image_end - image_begin; }
    Index row_begin(Index rows) const { return row_unit * (divide_up(rows, row_unit) * band / bands); }
    Index row_end(Index rows) const {
        return std::min(rows, row_unit * (divide_up(rows, row_unit) * (band + 1) / bands));
    }
};

// Images are grouped while `bytes_per_image` allows, or cut into bands; at least one item for each thread
// where the rows allow it. Bands begin at multiples of `row_unit`: 2 for the tiles of Winograd.
struct ItemSplit {
    Index images = 0, bands = 1, groups = 0, row_unit = 1;
    static ItemSplit of(Index images, Index rows, Index row_unit, Index bytes_per_image, Index scratch_bytes,
                        int num_threads);
    Index count() const { return groups * bands; }
    Item item(Index index) const;
    Index max_images() const { return divide_up(images, groups); }
};

// The input as the kernels see it: rows of `width` pixels of `channels` values, `taps_h` x `taps_w` taps.
//   kPlain       the padded image
//   kSubsample   1x1 with stride: only the pixels that count
//   kPackRows    few channels: pixel q of a row holds the S * C values under the filter's row
//   kPackWindow  very few: pixel (p, q) holds all R * S * C values under the filter
// Weights keep their order [K][taps_h][taps_w][channels] in each of them.
enum class InputMode : std::uint8_t { kPlain, kSubsample, kPackRows, kPackWindow };

struct InputView {
    InputMode mode = InputMode::kPlain;
    Index channels = 0, taps_h = 0, taps_w = 0, stride_h = 1, stride_w = 1, width = 0;
    static InputView of(const ConvShape& shape);
    Index rows(Index out_rows) const { return out_rows > 0 ? (out_rows - 1) * stride_h + taps_h : 0; }
};

// A 1x1 convolution with stride 1 has no rows: its pixels are dealt out as one image of convenient width.
ConvShape without_rows(const ConvShape& shape);

// A row cut into nearly equal pieces of at most `limit` pixels.
struct Segment {
    Index begin = 0, pixels = 0;
};
std::vector<Segment> segments_of(Index pixels, Index limit);

// A tensor of that size is gone from the caches before it is read again: storing past them saves reading it
// in.
constexpr Index kStreamBytes = 8 * 1024 * 1024;

// Hands out parts of a workspace, each on a cache line of its own.
class WorkspaceLayout {
  public:
    std::size_t take_floats(Index floats) { return take(static_cast<std::size_t>(floats) * sizeof(float)); }
    std::size_t take(std::size_t bytes) {
        const std::size_t at = bytes_;
        bytes_ += (bytes + 63) / 64 * 64;
        return at;
    }
    std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_ = 0;
};

// Empty when shape, storage types and machine suit; otherwise one sentence.
std::string shape_refusal(const ConvShape& shape);
std::string storage_refusal(DType type, const char* tensor);

}  // namespace mpt::cpu
