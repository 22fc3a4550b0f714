#include <algorithm>
#include <cmath>
#include <span>

#include "ops/batch_norm/batch_norm.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

constexpr std::int64_t kRows = 64;  // summed in f32 before they go to f64
constexpr int kVectors = 4;         // vectors of channels walked together, to use whole cache lines

// Two sums a channel, taken by all threads over their rows and added in the order of threads.
struct ColumnSums {
    double* parts;  // [threads][2][channels]
    std::int64_t channels;
    int num_threads;

    static std::size_t bytes(std::int64_t channels, int num_threads) {
        return static_cast<std::size_t>(2 * channels * num_threads) * sizeof(double);
    }

    // terms(element, channel, lanes, &first, &second) adds one element's terms to two f32 sums.
    template <typename Terms>
    void take(std::int64_t rows, const Terms& terms) const {
        std::fill_n(parts, 2 * channels * num_threads, 0.0);
        cpu::parallel_for(rows, kRows, num_threads, [&](cpu::Range range, int thread) {
            double* sums = parts + 2 * channels * thread;
            for (std::int64_t first = range.begin; first < range.end; first += kRows)
                take_block({first, std::min(range.end, first + kRows)}, sums, terms);
        });
        for (int thread = 1; thread < num_threads; ++thread)
            for (std::int64_t i = 0; i < 2 * channels; ++i) parts[i] += parts[2 * channels * thread + i];
    }
    double first(std::int64_t c) const { return parts[c]; }
    double second(std::int64_t c) const { return parts[channels + c]; }

  private:
    template <typename Terms>
    void take_block(cpu::Range rows, double* sums, const Terms& terms) const {
        constexpr std::int64_t kWide = kVectors * simd::kLanes;
        std::int64_t c = 0;
        for (; c + kWide <= channels; c += kWide) take_columns<kVectors>(rows, c, simd::Full{}, sums, terms);
        simd::for_lanes(c, channels,
                        [&](std::int64_t at, auto lanes) { take_columns<1>(rows, at, lanes, sums, terms); });
    }
    template <int vectors, typename Lanes, typename Terms>
    void take_columns(cpu::Range rows, std::int64_t c, Lanes lanes, double* sums, const Terms& terms) const {
        __m256 a[vectors], b[vectors];
        for (int v = 0; v < vectors; ++v) a[v] = b[v] = _mm256_setzero_ps();
        for (std::int64_t r = rows.begin; r < rows.end; ++r)
            for (int v = 0; v < vectors; ++v) {
                const std::int64_t at = c + v * simd::kLanes;
                terms(r * channels + at, at, lanes, a[v], b[v]);
            }
        for (int v = 0; v < vectors; ++v) {
            simd::add_to(sums + c + v * simd::kLanes, a[v], lanes);
            simd::add_to(sums + channels + c + v * simd::kLanes, b[v], lanes);
        }
    }
};

// body(element, channel, lanes) over all elements, rows shared out to the threads.
template <typename Body>
void for_rows(std::int64_t rows, std::int64_t channels, int num_threads, const Body& body) {
    const std::int64_t grain = std::max<std::int64_t>(1, simd::kGrain / channels);
    cpu::parallel_for(rows, grain, num_threads, [&](cpu::Range range, int) {
        for (std::int64_t r = range.begin; r < range.end; ++r)
            simd::for_lanes(0, channels,
                            [&](std::int64_t c, auto lanes) { body(r * channels + c, c, lanes); });
    });
}

// Workspace: the sums, then `vectors` f32 vectors of the channels.
struct Workspace {
    ColumnSums sums;
    float* vectors;

    Workspace(void* memory, std::int64_t channels, int num_threads)
        : sums{static_cast<double*>(memory), channels, num_threads},
          vectors(reinterpret_cast<float*>(static_cast<char*>(memory) +
                                           ColumnSums::bytes(channels, num_threads))) {}
    static std::size_t bytes(const Signature& s, int vectors) {
        const std::int64_t channels = s.in(0).shape[-1];
        return ColumnSums::bytes(channels, s.num_threads) +
               static_cast<std::size_t>(vectors * channels) * sizeof(float);
    }
    float* vector(int index) const { return vectors + index * sums.channels; }
};

template <typename T>
void batch_norm_of(const Signature& s, const KernelArgs& a) {
    const std::int64_t channels = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / channels;
    const double n = static_cast<double>(rows), epsilon = s.attributes.as<BatchNormAttributes>().epsilon;
    const T* x = simd::input<T>(a, 0);
    const float* gamma = simd::input<float>(a, 1);
    const float* beta = simd::input<float>(a, 2);
    T* y = simd::output<T>(a, 0);
    float* mean = simd::output<float>(a, 1);
    float* rstd = simd::output<float>(a, 2);
    const Workspace work(a.workspace, channels, s.num_threads);
    // Sums of differences from the first row: squares of values far from zero would cancel.
    float* origin = work.vector(0);
    float* scale = work.vector(1);
    for (std::int64_t c = 0; c < channels; ++c) origin[c] = static_cast<float>(x[c]);
    work.sums.take(rows, [=](std::int64_t i, std::int64_t c, auto lanes, __m256& sum, __m256& squares) {
        const __m256 d = _mm256_sub_ps(simd::load(x + i, lanes), simd::load(origin + c, lanes));
        sum = _mm256_add_ps(sum, d);
        squares = _mm256_fmadd_ps(d, d, squares);
    });
    for (std::int64_t c = 0; c < channels; ++c) {
        const double moved = work.sums.first(c) / n;
        // Not std::max: a NaN must stay one.
        const double variance = work.sums.second(c) / n - moved * moved;
        const double inverse = 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon);
        mean[c] = static_cast<float>(static_cast<double>(origin[c]) + moved);
        rstd[c] = static_cast<float>(inverse);
        scale[c] = static_cast<float>(inverse * static_cast<double>(gamma[c]));
    }
    for_rows(rows, channels, s.num_threads, [=](std::int64_t i, std::int64_t c, auto lanes) {
        const __m256 centred = _mm256_sub_ps(simd::load(x + i, lanes), simd::load(mean + c, lanes));
        simd::store(y + i,
                    _mm256_fmadd_ps(centred, simd::load(scale + c, lanes), simd::load(beta + c, lanes)),
                    lanes);
    });
}

// grad_x = a grad_y + b (x - mean) + c a channel, from the two sums.
template <typename T>
void batch_norm_backward_of(const Signature& s, const KernelArgs& args) {
    const std::int64_t channels = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / channels;
    const T* grad_y = simd::input<T>(args, 0);
    const T* x = simd::input<T>(args, 1);
    const float* gamma = simd::input<float>(args, 2);
    const float* mean = simd::input<float>(args, 3);
    const float* rstd = simd::input<float>(args, 4);
    T* grad_x = simd::output<T>(args, 0);
    const Workspace work(args.workspace, channels, s.num_threads);
    work.sums.take(rows, [=](std::int64_t i, std::int64_t c, auto lanes, __m256& sum, __m256& products) {
        const __m256 g = simd::load(grad_y + i, lanes);
        const __m256 centred = _mm256_sub_ps(simd::load(x + i, lanes), simd::load(mean + c, lanes));
        sum = _mm256_add_ps(sum, g);
        products = _mm256_fmadd_ps(g, centred, products);
    });
    float* a = work.vector(0);
    float* b = work.vector(1);
    float* constant = work.vector(2);
    const double n = static_cast<double>(rows);
    for (std::int64_t c = 0; c < channels; ++c) {
        const double r = static_cast<double>(rstd[c]), factor = static_cast<double>(gamma[c]) * r;
        const double sum_xhat = work.sums.second(c) * r;
        simd::output<float>(args, 1)[c] = static_cast<float>(sum_xhat);
        simd::output<float>(args, 2)[c] = static_cast<float>(work.sums.first(c));
        a[c] = static_cast<float>(factor);
        b[c] = static_cast<float>(-factor * r * sum_xhat / n);
        constant[c] = static_cast<float>(-factor * work.sums.first(c) / n);
    }
    for_rows(rows, channels, s.num_threads, [=](std::int64_t i, std::int64_t c, auto lanes) {
        const __m256 centred = _mm256_sub_ps(simd::load(x + i, lanes), simd::load(mean + c, lanes));
        const __m256 line =
            _mm256_fmadd_ps(centred, simd::load(b + c, lanes), simd::load(constant + c, lanes));
        simd::store(grad_x + i,
                    _mm256_fmadd_ps(simd::load(grad_y + i, lanes), simd::load(a + c, lanes), line), lanes);
    });
}

template <typename T>
void batch_norm_inference_of(const Signature& s, const KernelArgs& a) {
    const std::int64_t channels = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / channels;
    const double epsilon = s.attributes.as<BatchNormAttributes>().epsilon;
    const T* x = simd::input<T>(a, 0);
    const float* beta = simd::input<float>(a, 2);
    const float* mean = simd::input<float>(a, 3);
    T* y = simd::output<T>(a, 0);
    float* scale = static_cast<float*>(a.workspace);
    for (std::int64_t c = 0; c < channels; ++c) {
        const double variance = static_cast<double>(simd::input<float>(a, 4)[c]);
        scale[c] = static_cast<float>(static_cast<double>(simd::input<float>(a, 1)[c]) /
                                      std::sqrt(variance + epsilon));
    }
    for_rows(rows, channels, s.num_threads, [=](std::int64_t i, std::int64_t c, auto lanes) {
        const __m256 centred = _mm256_sub_ps(simd::load(x + i, lanes), simd::load(mean + c, lanes));
        simd::store(y + i,
                    _mm256_fmadd_ps(centred, simd::load(scale + c, lanes), simd::load(beta + c, lanes)),
                    lanes);
    });
}

PreparedKernel prepare_batch_norm(const Signature& s) {
    const auto run = [s](const KernelArgs& a) {
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) { batch_norm_of<T>(s, a); });
    };
    return {run, Workspace::bytes(s, 2), "avx2"};
}
PreparedKernel prepare_backward(const Signature& s) {
    const auto run = [s](const KernelArgs& a) {
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) { batch_norm_backward_of<T>(s, a); });
    };
    return {run, Workspace::bytes(s, 3), "avx2"};
}
PreparedKernel prepare_inference(const Signature& s) {
    const auto run = [s](const KernelArgs& a) {
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) { batch_norm_inference_of<T>(s, a); });
    };
    return {run, static_cast<std::size_t>(s.in(0).shape[-1]) * sizeof(float), "avx2"};
}

}  // namespace

void register_batch_norm_cpu(KernelTable& table) {
    table.add({batch_norm_op.name, "simd", simd::refusal, prepare_batch_norm});
    table.add({batch_norm_backward_op.name, "simd", simd::refusal_unless_same<1>, prepare_backward});
    table.add({batch_norm_inference_op.name, "simd", simd::refusal, prepare_inference});
}

}  // namespace mpt
