#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/rope/rope.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// Sequences that have their own offset, or 1: all stand at the same positions.
std::int64_t num_offsets(const Signature& s) {
    return s.has(1) ? s.in(1).shape.num_elements() : 1;
}

// Cosines and sines of the positions of a sequence and all pairs: [T][2][D/2].
void fill_table(const Signature& s, std::int64_t offset, float* table) {
    const auto& attributes = s.attributes.as<RopeAttributes>();
    const std::int64_t rows = s.in(0).shape[1], size = s.in(0).shape[-1], half = size / 2;
    for (std::int64_t t = 0; t < rows; ++t)
        for (std::int64_t i = 0; i < half; ++i) {
            const double angle = rope_angle(attributes, offset + t, i, size);
            table[2 * t * half + i] = static_cast<float>(std::cos(angle));
            table[(2 * t + 1) * half + i] = static_cast<float>(std::sin(angle));
        }
}

template <typename T>
void turn_head(const T* x, T* y, const float* cosines, const float* sines, std::int64_t half) {
    simd::for_lanes(0, half, [=](std::int64_t i, auto lanes) {
        const __m256 first = simd::load(x + i, lanes), second = simd::load(x + half + i, lanes);
        const __m256 cosine = simd::load(cosines + i, lanes), sine = simd::load(sines + i, lanes);
        simd::store(y + i, _mm256_fmsub_ps(first, cosine, _mm256_mul_ps(second, sine)), lanes);
        simd::store(y + half + i, _mm256_fmadd_ps(first, sine, _mm256_mul_ps(second, cosine)), lanes);
    });
}

void turn_all(const Signature& s, const KernelArgs& a, const float* table) {
    const Shape& shape = s.in(0).shape;
    const std::int64_t rows = shape[1], size = shape[-1], half = size / 2;
    const std::int64_t heads = shape.num_elements() / (shape[0] * rows * size);  // of all parts
    const std::int64_t table_rows = num_offsets(s) * rows;
    const std::int64_t turned = s.attributes.as<RopeAttributes>().parts * shape[-2];
    const std::int64_t grain = std::max<std::int64_t>(1, simd::kGrain / (heads * size));
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        T* y = simd::output<T>(a, 0);
        cpu::parallel_for(shape[0] * rows, grain, s.num_threads, [=](cpu::Range range, int) {
            for (std::int64_t row = range.begin; row < range.end; ++row) {
                const float* cosines = table + 2 * (row % table_rows) * half;
                const std::int64_t first = row * heads * size;
                for (std::int64_t h = 0; h < turned; ++h)
                    turn_head(x + first + h * size, y + first + h * size, cosines, cosines + half, half);
                if (x != y)
                    std::copy_n(x + first + turned * size, (heads - turned) * size,
                                y + first + turned * size);
            }
        });
    });
}

// The table of fixed positions is made once, with the plan; that of an offset by each call.
PreparedKernel prepare(const Signature& s) {
    const auto elements = static_cast<std::size_t>(s.in(0).shape[1] * s.in(0).shape[-1]);
    if (s.has(1)) {
        const auto run = [s, elements](const KernelArgs& a) {
            float* table = static_cast<float*>(a.workspace);
            for (std::int64_t i = 0; i < num_offsets(s); ++i)
                fill_table(s, simd::input<std::int32_t>(a, 1)[i],
                           table + static_cast<std::size_t>(i) * elements);
            turn_all(s, a, table);
        };
        return {run, static_cast<std::size_t>(num_offsets(s)) * elements * sizeof(float), "avx2"};
    }
    std::vector<float> table(elements);
    fill_table(s, 0, table.data());
    return {[s, table](const KernelArgs& a) { turn_all(s, a, table.data()); }, 0, "avx2"};
}

}  // namespace

void register_rope_cpu(KernelTable& table) {
    table.add({rope_op.name, "simd", simd::refusal, prepare});
}

}  // namespace mpt
