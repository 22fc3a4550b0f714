// Norms over the last dimension, row by row: the kernels of layer_norm, rms_norm and both with a residual
// sum. For *_cpu.cpp files only. A row is read several times, but stays in the nearest cache.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/simd_kernel.h"

namespace mpt::row_norm {

enum class Centre { kMean, kZero };  // of layer_norm, of rms_norm

inline constexpr std::int64_t kRows = 64;  // summed in f32 before they go to f64

inline __m256 only(__m256 v, simd::Full) {
    return v;
}
inline __m256 only(__m256 v, simd::Some lanes) {
    return _mm256_and_ps(v, _mm256_castsi256_ps(simd::mask_of(lanes)));
}

// Sums over [0, width) of the `count` terms that terms(i, lanes, out) writes.
template <int count, typename Terms>
std::array<double, count> sums_over(std::int64_t width, const Terms& terms) {
    constexpr int kChains = 4;  // hide the latency of an addition
    __m256 sums[kChains][count];
    for (auto& chain : sums)
        for (__m256& sum : chain) sum = _mm256_setzero_ps();
    __m256 term[count];
    std::int64_t i = 0;
    for (; i + kChains * simd::kLanes <= width; i += kChains * simd::kLanes)
        for (int c = 0; c < kChains; ++c) {
            terms(i + c * simd::kLanes, simd::Full{}, term);
            for (int t = 0; t < count; ++t) sums[c][t] = _mm256_add_ps(sums[c][t], term[t]);
        }
    simd::for_lanes(i, width, [&](std::int64_t at, auto lanes) {
        terms(at, lanes, term);
        for (int t = 0; t < count; ++t) sums[0][t] = _mm256_add_ps(sums[0][t], only(term[t], lanes));
    });
    std::array<double, count> totals;
    for (int t = 0; t < count; ++t)
        totals[static_cast<std::size_t>(t)] = simd::sum_of(
            _mm256_add_ps(_mm256_add_ps(sums[0][t], sums[1][t]), _mm256_add_ps(sums[2][t], sums[3][t])));
    return totals;
}

struct Statistics {
    float mean = 0, rstd = 0;
};

template <Centre centre, typename T>
Statistics statistics_of(const T* x, std::int64_t width, double epsilon) {
    const double n = static_cast<double>(width);
    double mean = 0;
    if constexpr (centre == Centre::kMean)
        mean = sums_over<1>(width, [=](std::int64_t i, auto lanes,
                                       __m256* term) { term[0] = simd::load(x + i, lanes); })[0] /
               n;
    const __m256 origin = _mm256_set1_ps(static_cast<float>(mean));
    const auto moved = sums_over<2>(width, [=](std::int64_t i, auto lanes, __m256* term) {
        term[0] = _mm256_sub_ps(simd::load(x + i, lanes), origin);
        term[1] = _mm256_mul_ps(term[0], term[0]);
    });
    double variance = moved[1] / n;
    if constexpr (centre == Centre::kMean) {
        // The mean was rounded, and its sum was f32: correct both.
        const double rest = moved[0] / n;
        mean = static_cast<double>(static_cast<float>(mean)) + rest;
        variance -= rest * rest;
    }
    // Not std::max: a NaN must stay one.
    const double rstd = 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon);
    return {static_cast<float>(mean), static_cast<float>(rstd)};
}

// y = (x - mean) rstd gain + bias; bias may be null.
template <typename T>
void apply(const T* x, const Statistics& of_row, const float* gain, const float* bias, T* y,
           std::int64_t width) {
    const __m256 mean = _mm256_set1_ps(of_row.mean), rstd = _mm256_set1_ps(of_row.rstd);
    simd::for_lanes(0, width, [=](std::int64_t i, auto lanes) {
        const __m256 xhat = _mm256_mul_ps(_mm256_sub_ps(simd::load(x + i, lanes), mean), rstd);
        const __m256 shift = bias == nullptr ? _mm256_setzero_ps() : simd::load(bias + i, lanes);
        simd::store(y + i, _mm256_fmadd_ps(xhat, simd::load(gain + i, lanes), shift), lanes);
    });
}

inline std::int64_t grain_of(std::int64_t width) {
    return std::max<std::int64_t>(1, simd::kGrain / width);
}

// Each thread's sums over its rows of grad_y xhat and grad_y, in f64, and the f32 sums of its present block.
struct ColumnSums {
    double* wide;   // [threads][2][width]
    float* narrow;  // [threads][2][width]
    std::int64_t width;
    int num_threads;

    ColumnSums(void* memory, std::int64_t row_width, int threads)
        : wide(static_cast<double*>(memory)),
          narrow(reinterpret_cast<float*>(wide + 2 * row_width * threads)),
          width(row_width),
          num_threads(threads) {}
    static std::size_t bytes(std::int64_t width, int num_threads) {
        return static_cast<std::size_t>(2 * width * num_threads) * (sizeof(double) + sizeof(float));
    }
    void clear() const {
        std::fill_n(wide, 2 * width * num_threads, 0.0);
        std::fill_n(narrow, 2 * width * num_threads, 0.0f);
    }
    float* of_thread(int thread) const { return narrow + 2 * width * thread; }
    void flush(int thread) const {
        double* to = wide + 2 * width * thread;
        float* from = of_thread(thread);
        simd::for_lanes(0, 2 * width, [=](std::int64_t i, auto lanes) {
            simd::add_to(to + i, simd::load(from + i, lanes), lanes);
            simd::store(from + i, _mm256_setzero_ps(), lanes);
        });
    }
    // Of all threads, in their order; `second` may be null.
    void total(float* first, float* second) const {
        for (std::int64_t i = 0; i < width; ++i) {
            double sums[2] = {0, 0};
            for (int thread = 0; thread < num_threads; ++thread)
                for (int k = 0; k < 2; ++k) sums[k] += wide[(2 * thread + k) * width + i];
            first[i] = static_cast<float>(sums[0]);
            if (second != nullptr) second[i] = static_cast<float>(sums[1]);
        }
    }
};

// Data of the backward pass: of a row, or of all rows. `other` is added to grad_x; it may be null.
template <typename T>
struct BackwardData {
    const T *grad_y, *x, *other;
    T* grad_x;
    BackwardData at(std::int64_t i) const {
        return {grad_y + i, x + i, other == nullptr ? nullptr : other + i, grad_x + i};
    }
};

// One row of grad_x = rstd (g - average(g) - xhat average(g xhat)) with g = grad_y gain; without the first
// average where the norm does not centre. Adds the row to the sums of grad_y xhat and of grad_y.
template <Centre centre, typename T>
void backward_row(const BackwardData<T>& row, const float* gain, const Statistics& of_row, float* sums,
                  std::int64_t width) {
    const __m256 mean = _mm256_set1_ps(of_row.mean), rstd = _mm256_set1_ps(of_row.rstd);
    const auto totals = sums_over<2>(width, [=](std::int64_t i, auto lanes, __m256* term) {
        term[0] = _mm256_mul_ps(simd::load(row.grad_y + i, lanes), simd::load(gain + i, lanes));
        term[1] =
            _mm256_mul_ps(term[0], _mm256_mul_ps(_mm256_sub_ps(simd::load(row.x + i, lanes), mean), rstd));
    });
    const double n = static_cast<double>(width);
    const __m256 average = _mm256_set1_ps(centre == Centre::kMean ? static_cast<float>(totals[0] / n) : 0.0f);
    const __m256 along = _mm256_set1_ps(static_cast<float>(totals[1] / n));
    simd::for_lanes(0, width, [=](std::int64_t i, auto lanes) {
        const __m256 xhat = _mm256_mul_ps(_mm256_sub_ps(simd::load(row.x + i, lanes), mean), rstd);
        const __m256 gradient = simd::load(row.grad_y + i, lanes);
        float* products = sums + i;
        float* plain = sums + width + i;
        simd::store(products, _mm256_fmadd_ps(gradient, xhat, simd::load(products, lanes)), lanes);
        simd::store(plain, _mm256_add_ps(gradient, simd::load(plain, lanes)), lanes);
        const __m256 scaled = _mm256_sub_ps(_mm256_mul_ps(gradient, simd::load(gain + i, lanes)), average);
        const __m256 other = row.other == nullptr ? _mm256_setzero_ps() : simd::load(row.other + i, lanes);
        const __m256 own = _mm256_fnmadd_ps(xhat, along, scaled);
        simd::store(row.grad_x + i, _mm256_fmadd_ps(rstd, own, other), lanes);
    });
}

// All rows; a null mean is 0.
template <Centre centre, typename T>
void backward(const BackwardData<T>& data, const float* gain, const float* mean, const float* rstd,
              std::int64_t rows, const ColumnSums& sums) {
    sums.clear();
    const std::int64_t width = sums.width;
    cpu::parallel_for(rows, grain_of(width), sums.num_threads, [&](cpu::Range range, int thread) {
        for (std::int64_t r = range.begin; r < range.end; ++r) {
            const Statistics of_row{mean == nullptr ? 0 : mean[r], rstd[r]};
            backward_row<centre>(data.at(r * width), gain, of_row, sums.of_thread(thread), width);
            if ((r - range.begin) % kRows == kRows - 1) sums.flush(thread);
        }
        sums.flush(thread);
    });
}

template <typename T>
void add_rows(const T* a, const T* b, T* sum, std::int64_t width) {
    simd::for_lanes(0, width, [=](std::int64_t i, auto lanes) {
        simd::store(sum + i, _mm256_add_ps(simd::load(a + i, lanes), simd::load(b + i, lanes)), lanes);
    });
}

// Where a norm finds things among its inputs and outputs; kNone: there is none. With `other` the norm is of
// x + other, which goes to `sum`.
struct ForwardPlaces {
    int x = 0, other = kNone, gain = 1, bias = kNone;
    int sum = kNone, y = 0, mean = kNone, rstd = 1;
};
struct BackwardPlaces {
    int grad_y = 0, x = 1, gain = 2, mean = kNone, rstd = 3, other = kNone;
    int grad_x = 0, grad_gain = 1, grad_bias = kNone;
};

template <Centre centre>
void run_forward(const Signature& s, const KernelArgs& a, double epsilon, const ForwardPlaces& at) {
    const std::int64_t width = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / width;
    const float* gain = simd::input<float>(a, at.gain);
    const float* bias = at.bias != kNone && s.has(at.bias) ? simd::input<float>(a, at.bias) : nullptr;
    float* mean = at.mean == kNone ? nullptr : simd::output<float>(a, at.mean);
    float* rstd = simd::output<float>(a, at.rstd);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, at.x);
        const T* other = at.other == kNone ? nullptr : simd::input<T>(a, at.other);
        T* sum = at.sum == kNone ? nullptr : simd::output<T>(a, at.sum);
        T* y = simd::output<T>(a, at.y);
        cpu::parallel_for(rows, grain_of(width), s.num_threads, [&](cpu::Range range, int) {
            for (std::int64_t r = range.begin; r < range.end; ++r) {
                const std::int64_t first = r * width;
                if (other != nullptr) add_rows(x + first, other + first, sum + first, width);
                const T* row = (other == nullptr ? x : sum) + first;
                const Statistics of_row = statistics_of<centre>(row, width, epsilon);
                if (mean != nullptr) mean[r] = of_row.mean;
                rstd[r] = of_row.rstd;
                apply(row, of_row, gain, bias, y + first, width);
            }
        });
    });
}

template <Centre centre>
PreparedKernel prepare_backward(const Signature& signature, const BackwardPlaces& places) {
    const auto run = [s = signature, at = places](const KernelArgs& a) {
        const std::int64_t width = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / width;
        const ColumnSums sums(a.workspace, width, s.num_threads);
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
            const BackwardData<T> data{simd::input<T>(a, at.grad_y), simd::input<T>(a, at.x),
                                       at.other == kNone ? nullptr : simd::input<T>(a, at.other),
                                       simd::output<T>(a, at.grad_x)};
            backward<centre>(data, simd::input<float>(a, at.gain),
                             at.mean == kNone ? nullptr : simd::input<float>(a, at.mean),
                             simd::input<float>(a, at.rstd), rows, sums);
        });
        sums.total(simd::output<float>(a, at.grad_gain),
                   at.grad_bias == kNone ? nullptr : simd::output<float>(a, at.grad_bias));
    };
    return {run, ColumnSums::bytes(signature.in(0).shape[-1], signature.num_threads), "avx2"};
}

}  // namespace mpt::row_norm
