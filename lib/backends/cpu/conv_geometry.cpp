#include "backends/cpu/conv_geometry.h"

#include <algorithm>
#include <string>

#include "backends/cpu/instruction_set.h"

namespace mpt::cpu {

Blocking Blocking::of(Index channels) {
    const Index padded = round_up(channels, kCacheLineFloats);
    Index size = kCacheLineFloats;
    for (const Index candidate : {32, 48, 64})
        if (padded % candidate == 0) size = candidate;
    return {channels, size, padded / size};
}

Index Blocking::valid(Index block) const {
    return std::min(size, channels - block * size);
}

ItemSplit ItemSplit::of(Index images, Index rows, Index row_unit, Index bytes_per_image, Index scratch_bytes,
                        int num_threads) {
    ItemSplit split;
    split.row_unit = row_unit;
    split.images = images;
    split.groups = images;
    if (bytes_per_image > scratch_bytes) {
        split.bands = divide_up(bytes_per_image, scratch_bytes);
    } else {
        const Index group = std::max<Index>(1, scratch_bytes / std::max<Index>(1, bytes_per_image));
        split.groups = std::min(images, round_up(divide_up(images, group), num_threads));
    }
    if (split.count() < num_threads) split.bands = divide_up(num_threads, split.groups);
    // A multiple of the threads in all, so that no thread has a band more than the others.
    while (split.bands > 1 && split.count() % num_threads != 0) ++split.bands;
    split.bands = std::clamp<Index>(split.bands, 1, divide_up(rows, row_unit));
    if (split.bands > 1) split.groups = images;
    return split;
}

Item ItemSplit::item(Index index) const {
    const Index group = index / bands;
    return {images * group / groups, images * (group + 1) / groups, index % bands, bands, row_unit};
}

InputView InputView::of(const ConvShape& s) {
    InputView view;
    view.width = s.out_width();
    if (s.kernel_h == 1 && s.kernel_w == 1 && s.stride > 1 && s.pad == 0) {
        view.mode = InputMode::kSubsample;
        view.channels = s.in_channels;
        view.taps_h = view.taps_w = 1;
        return view;
    }
    const Index window = s.kernel_h * s.kernel_w * s.in_channels;
    if (s.in_channels <= 8 && s.kernel_w > 1 && window <= 64) {
        view.mode = InputMode::kPackWindow;
        view.channels = window;
        view.taps_h = view.taps_w = 1;
    } else if (s.in_channels <= 8 && s.kernel_w > 1) {
        view.mode = InputMode::kPackRows;
        view.channels = s.kernel_w * s.in_channels;
        view.taps_h = s.kernel_h;
        view.taps_w = 1;
        view.stride_h = s.stride;
    } else {
        view.channels = s.in_channels;
        view.taps_h = s.kernel_h;
        view.taps_w = s.kernel_w;
        view.stride_h = view.stride_w = s.stride;
        view.width = s.width + 2 * s.pad;
    }
    return view;
}

ConvShape without_rows(const ConvShape& shape) {
    if (shape.kernel_h != 1 || shape.kernel_w != 1 || shape.stride != 1 || shape.pad != 0) return shape;
    const Index pixels = shape.batch * shape.height * shape.width;
    for (Index width = 64; width >= 24; --width) {
        if (pixels % width != 0) continue;
        ConvShape flat = shape;
        flat.batch = 1;
        flat.height = pixels / width;
        flat.width = width;
        return flat;
    }
    return shape;
}

std::vector<Segment> segments_of(Index pixels, Index limit) {
    const Index count = divide_up(pixels, limit);
    std::vector<Segment> segments;
    for (Index i = 0; i < count; ++i) {
        const Index begin = pixels * i / count;
        segments.push_back({begin, pixels * (i + 1) / count - begin});
    }
    return segments;
}

std::string shape_refusal(const ConvShape& s) {
    if (instruction_set() == InstructionSet::kBaseline) return "needs AVX2, FMA and F16C";
    if (s.batch < 1 || s.height < 1 || s.width < 1 || s.in_channels < 1 || s.out_channels < 1)
        return "needs at least one image, pixel and channel";
    if (s.kernel_h < 1 || s.kernel_w < 1 || s.stride < 1 || s.pad < 0)
        return "needs a positive kernel and stride, and padding that is not negative";
    if (s.pad >= s.kernel_h || s.pad >= s.kernel_w) return "needs padding smaller than the kernel";
    if (s.height + 2 * s.pad < s.kernel_h || s.width + 2 * s.pad < s.kernel_w)
        return "needs an input at least as large as the kernel";
    return "";
}

std::string storage_refusal(DType type, const char* tensor) {
    if (type == DType::f32 || type == DType::f16 || type == DType::bf16) return "";
    return std::string("stores ") + tensor + " only as f32, f16 or bf16, not " + std::string(name_of(type));
}

}  // namespace mpt::cpu
