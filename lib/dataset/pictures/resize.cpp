#include "dataset/pictures/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpt {
namespace {

void vertical_plain(const std::uint8_t* first_row, std::int64_t stride, const std::int16_t* weights,
                    std::int64_t count, std::int64_t bytes, std::int16_t* line) {
    constexpr int kShift = kWeightBits - kLineBits;
    for (std::int64_t x = 0; x < bytes; ++x) {
        std::int32_t sum = 1 << (kShift - 1);
        for (std::int64_t k = 0; k < count; ++k) sum += weights[k] * first_row[k * stride + x];
        line[x] = static_cast<std::int16_t>(sum >> kShift);
    }
}

void horizontal_plain(const std::int16_t* line, const ResizeTaps& taps, std::int64_t channels,
                      std::uint8_t* out) {
    constexpr int kShift = kWeightBits + kLineBits;
    for (std::size_t x = 0; x < taps.windows.size(); ++x) {
        const ResizeTaps::Window& window = taps.windows[x];
        const std::int16_t* weights = taps.weights_of(static_cast<std::int64_t>(x));
        const std::int16_t* from = line + window.first * channels;
        for (std::int64_t c = 0; c < channels; ++c) {
            std::int32_t sum = 1 << (kShift - 1);
            for (std::int64_t k = 0; k < window.count; ++k) sum += weights[k] * from[k * channels + c];
            *out++ = static_cast<std::uint8_t>(std::clamp(sum >> kShift, 0, 255));
        }
    }
}

ResizeKernels kernels() {
    return has_avx2() ? resize_kernels_avx2() : ResizeKernels{vertical_plain, nullptr};
}

// Weights in fixed point that add up to one: what rounding lost or gained goes to the largest.
void round_weights(const std::vector<double>& exact, std::int16_t* weights) {
    constexpr int kOne = 1 << kWeightBits;
    double total = 0;
    for (const double weight : exact) total += weight;
    int left = kOne;
    std::size_t largest = 0;
    for (std::size_t k = 0; k < exact.size(); ++k) {
        const int rounded = static_cast<int>(std::lround(exact[k] / total * kOne));
        weights[k] = static_cast<std::int16_t>(rounded);
        left -= rounded;
        if (exact[k] > exact[largest]) largest = k;
    }
    weights[largest] = static_cast<std::int16_t>(weights[largest] + left);
}

}  // namespace

bool has_avx2() {
    return __builtin_cpu_supports("avx2") != 0;
}

void make_taps(std::int64_t input, double begin, double length, std::int64_t output, ResizeTaps& taps) {
    const double scale = length / static_cast<double>(output);
    const double reach = std::max(scale, 1.0);  // half the triangle's width, in input pixels
    taps.stride = (static_cast<std::int64_t>(std::ceil(2 * reach)) + 2) / 2 * 2;
    taps.windows.resize(static_cast<std::size_t>(output));
    taps.weights.assign(static_cast<std::size_t>(output * taps.stride), 0);
    std::vector<double> exact;
    for (std::int64_t i = 0; i < output; ++i) {
        const double center = begin + (static_cast<double>(i) + 0.5) * scale;
        const auto first =
            std::clamp<std::int64_t>(std::llround(std::floor(center - reach + 0.5)), 0, input - 1);
        const auto end =
            std::clamp<std::int64_t>(std::llround(std::floor(center + reach + 0.5)), first + 1, input);
        exact.clear();
        for (std::int64_t x = first; x < end; ++x) {
            const double distance = std::abs(static_cast<double>(x) + 0.5 - center) / reach;
            exact.push_back(std::max(1 - distance, 0.0));
        }
        if (std::all_of(exact.begin(), exact.end(), [](double w) { return w == 0; })) exact[0] = 1;
        const std::int64_t count = std::min<std::int64_t>(end - first, taps.stride);
        exact.resize(static_cast<std::size_t>(count));
        taps.windows[static_cast<std::size_t>(i)] = {static_cast<std::int32_t>(first),
                                                     static_cast<std::int32_t>(count)};
        round_weights(exact, taps.weights.data() + i * taps.stride);
    }
}

void Resizer::resize(const PictureView& in, const Area& area, std::int64_t height, std::int64_t width,
                     std::uint8_t* out) {
    const std::int64_t row_bytes = width * in.channels;
    const bool copies = area.top == 0 && area.left == 0 && area.height == static_cast<double>(height) &&
                        area.width == static_cast<double>(width) && in.height == height && in.width == width;
    if (copies) {
        for (std::int64_t y = 0; y < height; ++y)
            std::memcpy(out + y * row_bytes, in.row(y), static_cast<std::size_t>(row_bytes));
        return;
    }
    static const ResizeKernels kKernels = kernels();
    make_taps(in.height, area.top, area.height, height, rows_);
    make_taps(in.width, area.left, area.width, width, columns_);
    const std::int64_t values = in.width * in.channels;
    const std::int64_t line = values + kLinePadding * in.channels + columns_.stride * in.channels;
    lines_.resize(static_cast<std::size_t>(2 * line));
    for (std::int64_t y = 0; y < height; y += 2) {
        // An odd last row is made twice, into the same place.
        const std::int64_t pair[2] = {y, std::min(y + 1, height - 1)};
        for (int i = 0; i < 2; ++i) {
            const ResizeTaps::Window& window = rows_.windows[static_cast<std::size_t>(pair[i])];
            kKernels.vertical(in.row(window.first), in.stride, rows_.weights_of(pair[i]), window.count,
                              values, lines_.data() + i * line);
        }
        std::uint8_t* rows[2] = {out + pair[0] * row_bytes, out + pair[1] * row_bytes};
        if (in.channels == 3 && kKernels.horizontal3 != nullptr) {
            kKernels.horizontal3(lines_.data(), lines_.data() + line, columns_, rows[0], rows[1]);
        } else {
            for (int i = 0; i < 2; ++i)
                horizontal_plain(lines_.data() + i * line, columns_, in.channels, rows[i]);
        }
    }
}

}  // namespace mpt
