#include <algorithm>

#include "ops/max_pool/max_pool.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// The rows (or columns) of a window that lie in the image.
cpu::Range inside(std::int64_t first, std::int64_t window, std::int64_t extent) {
    return {std::max<std::int64_t>(0, -first), std::min(window, extent - first)};
}

struct Window {
    std::int64_t top, left;
    cpu::Range rows, columns;
};

template <typename T>
struct Image {
    const T* x;
    std::int64_t width, channels;
};

template <typename T>
void pool_pixel(const Image<T>& image, const Window& w, std::int64_t window, T* y, std::uint8_t* index) {
    simd::for_lanes(0, image.channels, [&](std::int64_t c, auto lanes) {
        const auto at = [&](std::int64_t r, std::int64_t t) {
            return simd::load(image.x + ((w.top + r) * image.width + w.left + t) * image.channels + c, lanes);
        };
        __m256 best = at(w.rows.begin, w.columns.begin);
        __m256i place = _mm256_set1_epi32(static_cast<int>(w.rows.begin * window + w.columns.begin));
        for (std::int64_t r = w.rows.begin; r < w.rows.end; ++r)
            for (std::int64_t t = w.columns.begin; t < w.columns.end; ++t) {
                const __m256 value = at(r, t);
                // Greater, or not comparable while the best is a number: the first NaN wins.
                const __m256 wins = _mm256_and_ps(_mm256_cmp_ps(value, best, _CMP_NLE_UQ),
                                                  _mm256_cmp_ps(best, best, _CMP_ORD_Q));
                best = _mm256_blendv_ps(best, value, wins);
                place = _mm256_blendv_epi8(place, _mm256_set1_epi32(static_cast<int>(r * window + t)),
                                           _mm256_castps_si256(wins));
            }
        simd::store(y + c, best, lanes);
        simd::store_bytes(index + c, place, lanes);
    });
}

void run_max_pool(const Signature& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<MaxPoolAttributes>();
    const Shape& x = s.in(0).shape;
    const Shape& y = s.out(0).shape;
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        cpu::parallel_for(y[0] * y[1], 1, s.num_threads, [&](cpu::Range rows, int) {
            for (std::int64_t row = rows.begin; row < rows.end; ++row) {
                const std::int64_t n = row / y[1], top = row % y[1] * a.stride - a.pad;
                const Image<T> image{simd::input<T>(args, 0) + n * x[1] * x[2] * x[3], x[2], x[3]};
                for (std::int64_t q = 0; q < y[2]; ++q) {
                    const std::int64_t left = q * a.stride - a.pad, to = (row * y[2] + q) * y[3];
                    const Window w{top, left, inside(top, a.window, x[1]), inside(left, a.window, x[2])};
                    pool_pixel(image, w, a.window, simd::output<T>(args, 0) + to,
                               simd::output<std::uint8_t>(args, 1) + to);
                }
            }
        });
    });
}

// The windows that hold place `at` of an image: [first, last].
struct Covering {
    std::int64_t first, last;
    Covering(std::int64_t at, const MaxPoolBackwardAttributes& a, std::int64_t windows)
        : first(std::max<std::int64_t>(0, (at + a.pad - a.window + a.stride) / a.stride)),
          last(std::min(windows - 1, (at + a.pad) / a.stride)) {
        if (at + a.pad < a.window) first = 0;
    }
};

// Gathers, so that each element of grad_x has one writer and one order of sums.
template <typename T>
void gather_pixel(const MaxPoolBackwardAttributes& a, const Shape& y, std::int64_t h, std::int64_t w,
                  const T* grad_y, const std::uint8_t* index, T* grad_x) {
    const Covering rows(h, a, y[1]), columns(w, a, y[2]);
    simd::for_lanes(0, y[3], [&](std::int64_t c, auto lanes) {
        __m256 sum = _mm256_setzero_ps();
        for (std::int64_t p = rows.first; p <= rows.last; ++p)
            for (std::int64_t q = columns.first; q <= columns.last; ++q) {
                const std::int64_t place = (h + a.pad - p * a.stride) * a.window + (w + a.pad - q * a.stride);
                const std::int64_t at = (p * y[2] + q) * y[3] + c;
                const __m256i chosen = _mm256_cmpeq_epi32(simd::load_bytes(index + at, lanes),
                                                          _mm256_set1_epi32(static_cast<int>(place)));
                sum = _mm256_add_ps(
                    sum, _mm256_and_ps(_mm256_castsi256_ps(chosen), simd::load(grad_y + at, lanes)));
            }
        simd::store(grad_x + c, sum, lanes);
    });
}

void run_max_pool_backward(const Signature& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<MaxPoolBackwardAttributes>();
    const Shape& y = s.in(0).shape;
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        cpu::parallel_for(y[0] * a.height, 1, s.num_threads, [&](cpu::Range rows, int) {
            for (std::int64_t row = rows.begin; row < rows.end; ++row) {
                const std::int64_t image = row / a.height * y[1] * y[2] * y[3];
                for (std::int64_t w = 0; w < a.width; ++w)
                    gather_pixel(a, y, row % a.height, w, simd::input<T>(args, 0) + image,
                                 simd::input<std::uint8_t>(args, 1) + image,
                                 simd::output<T>(args, 0) + (row * a.width + w) * y[3]);
            }
        });
    });
}

std::string forward_refusal(const Signature& s) {
    return s.attributes.as<MaxPoolAttributes>().affine ? "takes no scale and shift" : simd::refusal(s);
}

}  // namespace

void register_max_pool_cpu(KernelTable& table) {
    table.add(simd::kernel<run_max_pool>(max_pool_op, forward_refusal));
    table.add(simd::kernel<run_max_pool_backward>(max_pool_backward_op));
}

}  // namespace mpt
