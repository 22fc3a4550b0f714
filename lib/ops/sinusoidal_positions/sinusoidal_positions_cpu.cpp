#include <cmath>
#include <vector>

#include "ops/simd_kernel.h"
#include "ops/sinusoidal_positions/sinusoidal_positions.h"

namespace mpt {

namespace {

void fill_row(const std::vector<double>& frequencies, std::int64_t position, float* row) {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double angle = static_cast<double>(position) * frequencies[i];
        row[2 * i] = static_cast<float>(std::sin(angle));
        row[2 * i + 1] = static_cast<float>(std::cos(angle));
    }
}

template <typename T>
void add_row(const T* x, T* y, const float* row, std::int64_t width, float scale) {
    const __m256 factor = _mm256_set1_ps(scale);
    simd::for_lanes(0, width, [=](std::int64_t i, auto lanes) {
        simd::store(y + i, _mm256_fmadd_ps(simd::load(x + i, lanes), factor, simd::load(row + i, lanes)),
                    lanes);
    });
}

// Each thread makes the sinusoids of a position in its row of the workspace and adds them to all sequences
// that share the position: without `position` all do.
void run_forward(const Signature& s, const KernelArgs& a, const std::vector<double>& frequencies) {
    const std::int64_t batch = s.in(0).shape[0], length = s.in(0).shape[1], width = s.in(0).shape[2];
    const auto scale = static_cast<float>(s.attributes.as<SinusoidalPositionsAttributes>().scale);
    const std::int32_t* first = s.has(1) ? simd::input<std::int32_t>(a, 1) : nullptr;
    const std::int64_t groups = first == nullptr ? 1 : batch, sharing = batch / groups;
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        T* y = simd::output<T>(a, 0);
        cpu::parallel_for(groups * length, 1, s.num_threads, [&, x, y](cpu::Range range, int thread) {
            float* row = static_cast<float*>(a.workspace) + thread * width;
            for (std::int64_t i = range.begin; i < range.end; ++i) {
                const std::int64_t group = i / length, t = i % length;
                fill_row(frequencies, t + (first == nullptr ? 0 : first[group]), row);
                for (std::int64_t b = group * sharing; b < (group + 1) * sharing; ++b) {
                    const std::int64_t at = (b * length + t) * width;
                    add_row(x + at, y + at, row, width, scale);
                }
            }
        });
    });
}

PreparedKernel prepare(const Signature& s) {
    const std::int64_t width = s.in(0).shape[2];
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < width / 2; ++i)
        frequencies.push_back(sinusoid_frequency(s.attributes.as<SinusoidalPositionsAttributes>(), i, width));
    return {[s, frequencies](const KernelArgs& a) { run_forward(s, a, frequencies); },
            static_cast<std::size_t>(s.num_threads * width) * sizeof(float), "avx2"};
}

void run_backward(const Signature& s, const KernelArgs& a) {
    const __m256 scale =
        _mm256_set1_ps(static_cast<float>(s.attributes.as<SinusoidalPositionsAttributes>().scale));
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, 0);
        T* grad_x = simd::output<T>(a, 0);
        simd::for_elements(s.in(0).shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
            simd::store(grad_x + i, _mm256_mul_ps(simd::load(grad_y + i, lanes), scale), lanes);
        });
    });
}

}  // namespace

void register_sinusoidal_positions_cpu(KernelTable& table) {
    table.add({sinusoidal_positions_op.name, "simd", simd::refusal, prepare});
    table.add(simd::kernel<run_backward>(sinusoidal_positions_backward_op));
}

}  // namespace mpt
