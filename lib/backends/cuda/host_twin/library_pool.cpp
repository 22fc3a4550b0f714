// cuDNN's pools by plain loops.
#include <cstdint>
#include <vector>

#include "backends/cuda/host_twin/library_calls.h"
#include "backends/cuda/host_twin/stored_values.h"

namespace mpt::gpu {

namespace {

// Calls body(pixel of the images, place in the window) for what a window sees, row by row.
template <typename F>
void for_each_seen(const PoolSpec& s, std::int64_t window, const F& body) {
    const std::int64_t q = window % s.q, p = window / s.q % s.p, n = window / (s.q * s.p);
    for (std::int64_t r = 0; r < s.window_h; ++r)
        for (std::int64_t t = 0; t < s.window_w; ++t) {
            const std::int64_t h = p * s.stride - s.pad + r, w = q * s.stride - s.pad + t;
            if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
            body((n * s.h + h) * s.w + w, r * s.window_w + t);
        }
}

std::size_t at(const PoolSpec& s, std::int64_t pixel, std::int64_t channel) {
    return static_cast<std::size_t>(pixel * s.c + channel);
}

void pool(const PoolSpec& s, const PoolArgs& args, std::int64_t window, std::int64_t c) {
    float best = 0, sum = 0;
    std::int64_t chosen = -1, seen = 0;
    for_each_seen(s, window, [&](std::int64_t pixel, std::int64_t place) {
        float value = value_at(args.from, s.dtype, at(s, pixel, c));
        if (s.affine) value = value * args.scale[c] + args.shift[c];
        if (s.relu && value < 0) value = 0;
        sum += value;
        ++seen;
        const bool first_nan = value != value && best == best;
        if (chosen >= 0 && !(value > best) && !first_nan) return;
        best = value;
        chosen = place;
    });
    store_at(args.to, s.dtype, at(s, window, c), s.average ? sum / static_cast<float>(seen) : best);
    if (!s.average)
        static_cast<std::uint8_t*>(args.index)[at(s, window, c)] = static_cast<std::uint8_t>(chosen);
}

void pool_backward(const PoolSpec& s, const PoolArgs& args, std::int64_t window, std::int64_t c,
                   std::vector<float>& gradient) {
    const float whole = value_at(args.from, s.dtype, at(s, window, c));
    const float share = s.average ? whole / static_cast<float>(s.window_h * s.window_w) : whole;
    for_each_seen(s, window, [&](std::int64_t pixel, std::int64_t place) {
        if (s.average || static_cast<const std::uint8_t*>(args.index)[at(s, window, c)] == place)
            gradient[at(s, pixel, c)] += share;
    });
}

}  // namespace

void host_pool(const PoolSpec& s, const PoolArgs& args) {
    std::vector<float> gradient(static_cast<std::size_t>(s.backward ? s.n * s.h * s.w * s.c : 0));
    for (std::int64_t window = 0; window < s.n * s.p * s.q; ++window)
        for (std::int64_t c = 0; c < s.c; ++c)
            if (s.backward)
                pool_backward(s, args, window, c, gradient);
            else
                pool(s, args, window, c);
    for (std::size_t i = 0; i < gradient.size(); ++i) store_at(args.to, s.dtype, i, gradient[i]);
}

}  // namespace mpt::gpu
